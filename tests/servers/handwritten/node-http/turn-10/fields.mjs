// Field kinds: each constructor takes the options of a field and yields
// { required, nullable, default, problem(value, world) -> string | null }.
// `problem` is only asked about values that are not null.

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const STAMP = /^([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})$/;

function isStamp(text) {
  const m = text.length === 19 && STAMP.exec(text);
  if (!m) return false;
  const [year, month, day, hour, minute, second] = m.slice(1).map(Number);
  if (year < 1 || month < 1 || month > 12) return false;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const last = month === 2 && leap ? 29 : DAYS[month - 1];
  return day >= 1 && day <= last && hour <= 23 && minute <= 59 && second <= 59;
}

function outside(value, low, high) {
  if (low !== undefined && value < low) return `is below ${low}`;
  if (high !== undefined && value > high) return `is above ${high}`;
  return null;
}

const field = (options, extra) => ({
  required: options.required === true,
  nullable: options.nullable === true,
  default: options.default,
  ...extra,
});

export const string = (o = {}) => field(o, {
  problem: (v) => (typeof v !== 'string'
    ? 'must be a string'
    : outside([...v].length, o.minLength, o.maxLength) && 'has a wrong length'),
});

export const integer = (o = {}) => field(o, {
  problem: (v) => (Number.isInteger(v) ? outside(v, o.min, o.max) : 'must be an integer'),
});

export const float = (o = {}) => field(o, {
  problem: (v) => (Number.isFinite(v) ? outside(v, o.min, o.max) : 'must be a number'),
});

export const boolean = (o = {}) => field(o, {
  problem: (v) => (typeof v === 'boolean' ? null : 'must be true or false'),
});

export const datetime = (o = {}) => field(o, {
  problem: (v) => (typeof v === 'string' && isStamp(v)
    ? outside(v, o.earliest, o.latest)
    : 'must be a datetime YYYY-MM-DD hh:mm:ss'),
});

export const oneOf = (values, o = {}) => field(o, {
  problem: (v) => (values.includes(v) ? null : `must be one of ${values.join(', ')}`),
});

export const ref = (target, o = {}) => field({ ...o, nullable: true, default: undefined }, {
  target,
  problem: (v, world) => (world.has(target, v) ? null : `must be the id of a ${target}`),
});

export const refs = (target, o = {}) => field({ ...o, nullable: false, default: [] }, {
  target,
  many: true,
  problem: (v, world) => (Array.isArray(v) && v.every((id) => world.has(target, id))
    ? null
    : `must be a list of ids of ${target} objects`),
});
