package main

// A Term yields a value (nil for null), a Condition a verdict, an Effect a change.
type (
	Term      func(db *DB, self Object) any
	Condition func(db *DB, self Object) bool
	Effect    func(db *DB, self Object)
)

func this(name string) Term { return func(_ *DB, self Object) any { return self[name] } }
func lit(v any) Term        { return func(*DB, Object) any { return v } }

func arith(a, b Term, op func(x, y float64) float64) Term {
	return func(db *DB, self Object) any {
		x, okX := number(a(db, self))
		y, okY := number(b(db, self))
		if !okX || !okY {
			return nil
		}
		return op(x, y)
	}
}

func minus(a, b Term) Term {
	return arith(a, b, func(x, y float64) float64 { return x - y })
}

func times(a, b Term) Term {
	return arith(a, b, func(x, y float64) float64 { return x * y })
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// compare is false as soon as one side is null, whatever the operator.
func compare(left Term, op string, right Term) Condition {
	return func(db *DB, self Object) bool {
		a, b := left(db, self), right(db, self)
		if a == nil || b == nil {
			return false
		}
		if x, ok := number(a); ok {
			y, ok := number(b)
			return ok && ordered(op, x < y, x == y, x > y)
		}
		if s, ok := a.(string); ok {
			t, ok := b.(string)
			return ok && ordered(op, s < t, s == t, s > t)
		}
		p, okP := a.(bool)
		q, okQ := b.(bool)
		if !okP || !okQ {
			return false
		}
		return ordered(op, false, p == q, p != q)
	}
}

func ordered(op string, less, equal, greater bool) bool {
	switch op {
	case "==":
		return equal
	case "!=":
		return !equal
	case "<":
		return less
	case "<=":
		return less || equal
	case ">":
		return greater
	case ">=":
		return greater || equal
	}
	panic("unknown operator " + op)
}

func isNull(t Term) Condition {
	return func(db *DB, self Object) bool { return t(db, self) == nil }
}

func set(name string, v any) Effect {
	return func(_ *DB, self Object) { self[name] = v }
}

func increment(name string, by int64) Effect {
	return func(_ *DB, self Object) {
		switch n := self[name].(type) {
		case int64:
			self[name] = n + by
		case float64:
			self[name] = n + float64(by)
		}
	}
}

// at runs an effect on the object that a reference of this one points to.
func at(refField, target string, e Effect) Effect {
	return func(db *DB, self Object) {
		id, ok := self[refField].(string)
		if !ok {
			return
		}
		if other := db.Get(target, id); other != nil {
			e(db, other)
		}
	}
}
