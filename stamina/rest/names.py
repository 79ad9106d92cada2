"""The words of sampled scenarios, and names made of them that are free (contract S5).

Words are plain and plausible, but mean nothing: no rule follows from a name (V6). Each list is long enough, with its two-word forms, for hundreds of turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import Final

import attrs

from stamina.draw import Draw
from stamina.errors import BenchmarkFault
from stamina.rest.naming import KEYWORDS, RESERVED_SEGMENTS
from stamina.rest.schema import BooleanType, DatetimeType, Entity, EnumType, FloatType, IntegerType, State, StringType

IsFree = Callable[[str], bool]

_DRAWS: Final = 40
"""How often chance is tried before every name is looked at in turn."""


def _words(*lines: str) -> tuple[str, ...]:
    return tuple(" ".join(lines).split())


ENTITIES: Final = _words(
    "Account Address Agenda Airport Album Animal Apartment Appointment Archive Article Artist Asset Auction Audit Author Badge Bakery Bank Barn Basket",
    "Batch Battery Beacon Bicycle Bill Bird Boat Book Bottle Boutique Branch Bridge Budget Building Bundle Bus Cabin Cable Calendar Camera Campaign Canal",
    "Candidate Canvas Card Cargo Cart Castle Catalog Chapter Charger Chart Circuit City Claim Client Clinic Clock Cloud Coach Collection College Comment",
    "Company Concert Contact Container Contract Copy Counter Country Coupon Course Courier Cradle Creator Crew Customer Dealer Delivery Deposit Depot Desk",
    "Device Diagram Dish Dispatch Doctor Dock Document Donor Door Draft Driver Drone Edition Editor Employee Engine Episode Equipment Event Exam Exhibit",
    "Expense Factory Farm Farmer Ferry Festival Fleet Flight Flower Folder Forest Forum Freight Gallery Garage Garden Gate Gift Grant Group Guest Guide",
    "Harbor Harvest Hotel House Incident Invoice Island Journal Journey Kitchen Label Laboratory Lamp Lease Lecture Lesson Letter Library License Listing",
    "Loan Locker Machine Magazine Manual Market Meal Meeting Member Memo Menu Merchant Message Meter Mission Museum Notebook Notice Nurse Office Offer",
    "Orchard Order Outlet Owner Painting Parcel Park Partner Patient Payment Permit Person Photo Pilot Pipeline Planet Plant Player Playlist Policy Portal",
    "Poster Printer Product Program Project Proposal Province Quarry Query Quote Railway Ranger Receipt Recipe Record Refund Region Rental Repair Report",
    "Request Reservation Resident Review Reward River Road Robot Room Route Sailor Sample Satellite School Screen Season Seat Sensor Session Shelf Shift",
    "Ship Shop Signal Singer Site Song Speaker Sponsor Stable Stadium Station Statue Store Storm Street Student Studio Supplier Survey Talent Task Teacher",
    "Team Tenant Theater Ticket Tool Tour Tournament Tower Track Train Tram Transfer Tree Trial Truck Tunnel Vaccine Valley Vehicle Vendor Venue Vessel",
    "Village Visitor Volunteer Voucher Voyage Wagon Wallet Warehouse Warranty Watch Window Winery Worker Workshop Yard Zone",
)

_ENTITY_PREFIXES: Final = _words(
    "Annual Basic Central Coastal Daily Digital Eastern Foreign Global Inner Junior Local Lunar Master Mobile National Northern Outer Partner Premium",
    "Primary Private Rapid Regional Remote Rural Senior Shared Solar Southern Special Spring Summer Team Urban Virtual Western Winter Yearly",
)

STRING_FIELDS: Final = _words(
    "title label name notes summary description remark caption code slug nickname email phone city street region postcode author editor language color",
    "brand material barcode serial_code subject headline comment motto origin shape texture flavor alias keyword location topic username signature",
)
INTEGER_FIELDS: Final = _words(
    "quantity stock capacity level rank score points pages copies seats floors visits likes attempts priority stock_level age duration_days retries",
    "votes wheels rooms units lot_size streak year batch_size distance_km slots guests doors stars layers minutes credits position tally",
)
FLOAT_FIELDS: Final = _words(
    "price weight height width depth rating balance discount tax_rate temperature pressure speed distance volume area amount fee deposit budget",
    "latitude longitude ratio humidity voltage cost margin efficiency density altitude salary length_cm radius yield_rate bonus",
)
BOOLEAN_FIELDS: Final = _words(
    "is_active is_visible is_verified is_locked is_featured is_shared is_remote is_fragile is_paid is_public has_warranty has_insurance has_lift",
    "has_garden in_stock on_sale needs_review accepts_cards notify_owner auto_renew is_refundable is_seasonal is_open is_certified has_backup",
)
DATETIME_FIELDS: Final = _words(
    "created_at updated_at starts_at ends_at due_at opened_at closed_at shipped_at delivered_at paid_at booked_at expires_at checked_at printed_at",
    "published_at signed_at renewed_at inspected_at reported_at resumed_at arrived_at departed_at confirmed_at tested_at",
)
_FIELD_PREFIXES: Final = _words(
    "actual backup base billing current daily early estimated extra first former gross initial inner last late local main monthly net next",
    "old original outer planned preferred previous primary raw recent regional second shipping spare target third total usual weekly",
)

THEMES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("status", _words("draft submitted approved rejected archived published withdrawn reopened expired suspended escalated deferred")),
    ("phase", _words("planning design building testing review rollout maintenance wind_down handover kickoff research pilot_run")),
    ("stage", _words("lead contacted qualified proposal negotiation won lost dormant onboarding trial renewal")),
    ("category", _words("standard express bulk fragile perishable hazardous oversized documents refrigerated valuable")),
    ("tier", _words("bronze silver gold platinum diamond starter plus premium partner legacy")),
    ("condition", _words("mint excellent good fair worn damaged broken refurbished restored unknown_state")),
    ("size", _words("tiny small medium large huge giant compact slim wide jumbo")),
    ("mode", _words("manual automatic scheduled paused standby offline online emergency silent turbo")),
    ("progress", _words("queued started halfway almost_done finished stalled blocked resumed cancelled verified")),
    ("severity", _words("trivial minor moderate major critical blocker cosmetic urgent low_risk high_risk")),
    ("channel", _words("web phone store partner_site mail kiosk chat referral social broadcast")),
    ("season", _words("spring summer autumn winter rainy dry harvest festival holiday off_season")),
    ("shade", _words("red blue green amber violet teal crimson ivory charcoal olive")),
    ("access", _words("guest viewer editor owner admin auditor contributor moderator operator observer")),
    ("payment_state", _words("unpaid partial paid refunded disputed overdue waived pledged invoiced settled")),
    ("shift", _words("morning afternoon evening night weekend standby_shift early late split rotating")),
)
"""Enum fields: a name, and the values it may have."""

_MORE_VALUES: Final = _words(
    "alpha beta gamma delta epsilon zeta theta kappa lambda_value sigma omega north south east west central upper lower inner outer"
    " basic advanced expert special regular irregular common rare unique"
)

ACTIONS: Final = _words(
    "approve archive submit reject publish withdraw reopen expire suspend escalate postpone assign release accept decline confirm cancel finish start pause",
    "resume restart promote demote activate deactivate ship deliver receive inspect repair refund settle invoice schedule launch retire restore verify",
    "certify renew upgrade downgrade lock unlock merge transfer recall dispatch checkout close process complete prepare register enroll dismiss audit",
    "evaluate finalize advance revert reset_state flag clear hold mark_ready mark_done hand_over sign_off roll_back wrap_up follow_up set_aside",
)
_ACTION_SUFFIXES: Final = _words("again early later fully partly quickly safely jointly")

LIST_SUFFIX: Final = _words("group pool queue bundle")
_REFERENCE_PREFIXES: Final = _words("main backup former preferred linked assigned nearest parent related first")

_ENUM_SUFFIXES: Final = _words("Kind Value Option Choice Code Variant")

TEXTS: Final = _words(
    "amber anchor apple arrow autumn birch breeze candle canyon cedar cherry cloud copper coral cotton crystal dawn echo ember falcon fern flint forest",
    "garnet glacier harbor hazel indigo island ivory jasper juniper lagoon lantern lemon lilac maple marble meadow mint nectar oak ocean olive onyx opal",
)
"""What string literals and defaults are made of."""

_FIELDS_BY_TYPE: Final[dict[type, tuple[str, ...]]] = {
    StringType: STRING_FIELDS,
    IntegerType: INTEGER_FIELDS,
    FloatType: FLOAT_FIELDS,
    BooleanType: BOOLEAN_FIELDS,
    DatetimeType: DATETIME_FIELDS,
    EnumType: tuple(name for name, _ in THEMES),
}


@attrs.frozen
class Taken:
    """The type names and path segments that a state uses or has freed."""

    names: frozenset[str]
    segments: frozenset[str]

    @classmethod
    def of(cls, state: State) -> Taken:
        """Those of a state."""
        enums = (field.type.name for entity in state.entities for field in entity.fields if isinstance(field.type, EnumType))
        return cls(
            names=frozenset([*(entity.name for entity in state.entities), *enums]),
            segments=frozenset([*(entity.segment for entity in state.entities), *(retired.segment for retired in state.retired)]),
        )

    def leaves(self, name: str) -> bool:
        """Whether an entity may have this name. Enum types end in a capitalised field name and are kept off freed segments too."""
        segment = name.lower()
        return name not in self.names and segment not in self.segments | RESERVED_SEGMENTS | KEYWORDS


def taken_by(entity: Entity) -> frozenset[str]:
    """The names of fields and actions that an entity uses or has freed; a new field avoids those of actions too, and the other way round."""
    own = [field.name for field in entity.fields] + [action.name for action in entity.actions]
    return frozenset([*own, *entity.retired.fields, *entity.retired.actions])


def entity_name(draw: Draw, taken: Taken) -> str:
    """A free PascalCase name of one or two words."""
    return _free(draw, ENTITIES, "{}{}", _ENTITY_PREFIXES, ENTITIES, taken.leaves)


def field_name(draw: Draw, kind: type, taken: frozenset[str]) -> str:
    """A free snake_case name that suits a scalar type."""
    words = _FIELDS_BY_TYPE[kind]
    return _free(draw, words, "{}_{}", _FIELD_PREFIXES, words, lambda name: name not in taken)


def reference_name(draw: Draw, target: str, taken: frozenset[str], *, many: bool) -> str:
    """A free snake_case name for a reference, or for a list of references, to ``target``."""
    base = snake(target)
    words = tuple(f"{base}_{suffix}" for suffix in LIST_SUFFIX) + (plural(base),) * 5 if many else (base,)
    return _free(draw, words, "{}_{}", _REFERENCE_PREFIXES, words, lambda name: name not in taken)


def action_name(draw: Draw, taken: frozenset[str]) -> str:
    """A free verb."""
    return _free(draw, ACTIONS, "{}_{}", ACTIONS, _ACTION_SUFFIXES, lambda name: name not in taken)


def enum_values(draw: Draw, field: str, count: int) -> tuple[str, ...]:
    """Values for an enum field of this name."""
    theme = next((values for name, values in THEMES if field.endswith(name)), None)
    return tuple(draw.sample(theme or draw.pick(THEMES)[1], count))


def further_value(draw: Draw, values: Sequence[str]) -> str | None:
    """A value that goes with those there are, None when the words are used up."""
    theme = max((theme for _, theme in THEMES), key=lambda theme: len(set(theme) & set(values)))
    left = [value for value in theme if value not in values] or [value for value in _MORE_VALUES if value not in values]
    return draw.pick(left) if left else None


def enum_type_name(entity: str, field: str, taken: Taken) -> str:
    """A free name for the enum type of a field. Raises BenchmarkFault when there is none."""
    base = entity + "".join(part.capitalize() for part in field.split("_"))
    for suffix in ("", *_ENUM_SUFFIXES):
        if taken.leaves(base + suffix):
            return base + suffix
    raise BenchmarkFault(f"every enum type name like {base!r} is used up")


def snake(name: str) -> str:
    """``user_profile`` for ``UserProfile``."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


def plural(word: str) -> str:
    """The plain plural of a noun."""
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def _free(draw: Draw, words: Sequence[str], form: str, first: Sequence[str], second: Sequence[str], is_free: IsFree) -> str:
    """A free name, of one word or of two put together by ``form``. Raises BenchmarkFault when there is none at all."""
    for _ in range(_DRAWS):
        name = draw.pick(words) if draw.chance(0.6) else form.format(draw.pick(first), draw.pick(second))
        if is_free(name):
            return name
    for name in chain(words, (form.format(*pair) for pair in product(first, second))):
        if is_free(name):
            return name
    raise BenchmarkFault(f"every name is used up, {words[0]!r} and the like")
