// What the API consists of: entities with their fields, analytics and actions.

import { boolean, datetime, integer, oneOf, string } from './fields.mjs';
import { cmp, plus } from './expr.mjs';

const Expense = {
  fields: {
    gross_score: integer({ required: true, nullable: true, min: 10, max: 10010 }),
    third_channel: oneOf(['referral', 'phone', 'social', 'kiosk', 'partner_site']),
    first_doors: integer({ max: 400 }),
    distance_km: integer({ min: 1 }),
    access: oneOf(['contributor', 'operator', 'viewer', 'editor']),
  },
  analytics: ['first_doors/max'],
  actions: {
    hand_over_quickly: {
      on: 'access',
      from: ['operator'],
      to: 'editor',
      when: [
        (self) => cmp(plus(self.first_doors, self.distance_km), '>', self.gross_score),
        (self) => cmp(self.gross_score, '<=', self.first_doors),
      ],
    },
    register: {
      on: 'third_channel',
      from: ['referral', 'phone', 'partner_site'],
      to: 'social',
      when: [
        (self) => cmp(self.distance_km, '>', 48),
      ],
      then: [
        (self) => { self.gross_score = null; },
      ],
    },
  },
};

const Desk = {
  fields: {
    seats: integer({ required: true, min: 5, max: 505 }),
    email: string({ required: true, minLength: 4, maxLength: 45 }),
    description: string(),
    texture: string({ required: true, maxLength: 10 }),
  },
};

const Track = {
  fields: {
    initial_delivered_at: datetime({ required: true, default: '2019-08-17 00:00:00' }),
    net_rooms: integer({ max: 51, default: -3 }),
    age: integer({ required: true, default: 2 }),
    total_is_verified: boolean({ required: true, nullable: true }),
    notify_owner: boolean({ required: true, default: false }),
  },
  analytics: ['age/avg'],
};

export const entities = { Expense, Desk, Track };
