// What the API consists of: entities with their fields, analytics and actions.

import { boolean, datetime, integer, oneOf, ref, refs, string } from './fields.mjs';
import { absent, cmp, plus, times } from './expr.mjs';

const Sample = {
  fields: {
    gross_score: integer({ required: true, nullable: true, min: 10, max: 10010 }),
    third_channel: oneOf([
      'referral', 'phone', 'social', 'kiosk', 'partner_site',
      'broadcast', 'chat', 'mail', 'store', 'web',
    ]),
    first_doors: integer({ max: 400 }),
    distance_km: integer({ min: 1 }),
    raw_progress: oneOf(['contributor', 'operator', 'viewer', 'editor']),
    initial_shade: oneOf(['red', 'green', 'olive', 'teal', 'charcoal', 'ivory'], { required: true }),
    former_repairs: refs('Repair'),
  },
  analytics: ['first_doors/max', 'count'],
  actions: {
    hand_over_quickly: {
      on: 'raw_progress',
      from: ['operator'],
      to: 'editor',
      when: [
        (self) => cmp(plus(self.first_doors, self.distance_km), '>', self.gross_score),
        (self) => cmp(self.gross_score, '<=', self.first_doors),
      ],
      then: [
        (self) => { self.first_doors = 375; },
      ],
    },
    complete_early: {
      on: 'raw_progress',
      from: ['operator'],
      to: 'viewer',
      when: [
        (self) => cmp(times(self.gross_score, self.distance_km), '!=', self.first_doors),
        (self) => cmp(self.distance_km, '<', self.gross_score),
        (self, world) => world.items('Repair', self.former_repairs).some((item) => absent(item.tier)),
      ],
      then: [
        (self) => { self.distance_km = 25; },
      ],
    },
    schedule: {
      on: 'third_channel',
      from: ['referral', 'phone', 'partner_site', 'broadcast', 'social', 'kiosk'],
      to: 'chat',
      when: [
        (self) => cmp(self.former_repairs.length, '==', 1),
      ],
      then: [
        (self) => { self.gross_score = null; },
        (self, world) => {
          for (const item of world.items('Repair', self.former_repairs)) item.primary_keyword = 'juniper';
        },
        (self, world) => {
          for (const item of world.items('Repair', self.former_repairs)) item.flavor = null;
        },
      ],
    },
  },
};

const JuniorVisitor = {
  fields: {
    seats: integer({ required: true, min: 5, max: 505 }),
    next_street: string({ required: true, minLength: 4, maxLength: 45 }),
    description: string(),
    primary_remark: string({ required: true, maxLength: 10 }),
    junior_visitor_group: refs('JuniorVisitor'),
  },
  analytics: ['seats/sum'],
};

const ForeignEdition = {
  fields: {
    initial_delivered_at: datetime({
      required: true,
      default: '2019-08-17 00:00:00',
      earliest: '2010-03-14 00:00:00',
    }),
    net_rooms: integer({ max: 51, default: -3 }),
    age: integer({ required: true, default: 2 }),
    total_is_verified: boolean({ required: true, nullable: true }),
    notify_owner: boolean({ required: true, default: false }),
  },
  analytics: ['age/avg', 'net_rooms/sum', 'net_rooms/max'],
};

const Repair = {
  fields: {
    description: string({ nullable: true, maxLength: 15, default: 'birch' }),
    primary_keyword: string({ maxLength: 44, default: 'meadow' }),
    flavor: string({ nullable: true, minLength: 5, maxLength: 21, default: 'maple' }),
    tier: oneOf(['partner', 'bronze', 'gold', 'platinum', 'plus']),
    first_foreign_edition: ref('ForeignEdition'),
  },
  analytics: ['count'],
};

const Sponsor = {
  fields: {
    actual_resumed_at: datetime({ required: true }),
    first_copies: integer({ required: true }),
    backup_stage: oneOf(['trial', 'dormant', 'lead', 'negotiation', 'onboarding'], { required: true, nullable: true }),
    created_at: datetime({ required: true, nullable: true }),
    is_verified: boolean(),
    former_foreign_edition_bundle: refs('ForeignEdition'),
  },
  actions: {
    unlock_safely: {
      on: 'backup_stage',
      from: ['negotiation', 'onboarding', 'dormant', 'trial', 'lead'],
      to: 'lead',
      when: [
        (self) => !absent(self.is_verified),
        (self) => cmp(self.created_at, '!=', self.actual_resumed_at),
        (self, world) => world.items('ForeignEdition', self.former_foreign_edition_bundle)
          .some((item) => !absent(item.total_is_verified)),
      ],
      then: [
        (self) => { self.created_at = null; },
      ],
    },
  },
};

const Proposal = {
  fields: {
    editor: string({ minLength: 1, maxLength: 14 }),
    arrived_at: datetime(),
    retries: integer({ required: true, min: 10 }),
    paid_at: datetime({ earliest: '2009-09-02 00:00:00', latest: '2023-05-15 23:59:59' }),
    season: oneOf(['rainy', 'winter', 'autumn', 'harvest'], { required: true }),
  },
};

export const entities = { Sample, JuniorVisitor, ForeignEdition, Repair, Sponsor, Proposal };
