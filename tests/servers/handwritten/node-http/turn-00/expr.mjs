// Comparison and arithmetic with the null rules of the API.

const OPS = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};

export const absent = (v) => v === null || v === undefined;

export const cmp = (a, op, b) => !absent(a) && !absent(b) && OPS[op](a, b);

export const plus = (a, b) => (absent(a) || absent(b) ? null : a + b);
export const minus = (a, b) => (absent(a) || absent(b) ? null : a - b);
export const times = (a, b) => (absent(a) || absent(b) ? null : a * b);
