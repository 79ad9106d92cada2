package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Create makes a full object out of the body of a POST.
func (db *DB) Create(e *Entity, body map[string]any) (Object, error) {
	id, ok := body["id"].(string)
	if !ok {
		return nil, fmt.Errorf("id must be a string")
	}
	if db.Get(e.Name, id) != nil {
		return nil, fmt.Errorf("id %q is taken", id)
	}
	o := Object{"id": id}
	for _, f := range e.Fields {
		raw, sent := body[f.Name]
		switch {
		case sent:
			v, err := db.accept(f, raw)
			if err != nil {
				return nil, err
			}
			o[f.Name] = v
		case f.Kind == RefList:
			o[f.Name] = []string{}
		case f.Default != nil:
			o[f.Name] = f.Default
		case f.Required:
			return nil, fmt.Errorf("%s is required", f.Name)
		default:
			o[f.Name] = nil
		}
	}
	return o, nil
}

// Update applies the body of a PATCH, all of it or nothing.
func (db *DB) Update(e *Entity, o Object, body map[string]any) error {
	if id, sent := body["id"]; sent && id != o["id"] {
		return fmt.Errorf("id cannot be changed")
	}
	changes := Object{}
	for _, f := range e.Fields {
		if raw, sent := body[f.Name]; sent {
			v, err := db.accept(f, raw)
			if err != nil {
				return err
			}
			changes[f.Name] = v
		}
	}
	for name, v := range changes {
		o[name] = v
	}
	return nil
}

// accept turns a decoded JSON value into the value to be stored in f.
func (db *DB) accept(f *Field, raw any) (any, error) {
	bad := func(why string) (any, error) { return nil, fmt.Errorf("%s: %s", f.Name, why) }
	if raw == nil {
		if !f.Nullable {
			return bad("must not be null")
		}
		return nil, nil
	}
	switch f.Kind {
	case Boolean:
		if b, ok := raw.(bool); ok {
			return b, nil
		}
		return bad("must be a boolean")

	case Integer, Float:
		n, ok := raw.(json.Number)
		if !ok {
			return bad("must be a number")
		}
		x, err := strconv.ParseFloat(string(n), 64)
		if err != nil {
			return bad("is out of range")
		}
		if f.Min != nil && x < *f.Min || f.Max != nil && x > *f.Max {
			return bad("is out of bounds")
		}
		if f.Kind == Float {
			return x, nil
		}
		if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
			return i, nil
		}
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return bad("must be an integer")
		}
		return int64(x), nil

	case RefList:
		items, ok := raw.([]any)
		if !ok {
			return bad("must be an array")
		}
		ids := []string{}
		for _, item := range items {
			id, ok := item.(string)
			if !ok || db.Get(f.Target, id) == nil {
				return bad("must hold ids of " + f.Target)
			}
			ids = append(ids, id)
		}
		return ids, nil
	}

	s, ok := raw.(string)
	if !ok {
		return bad("must be a string")
	}
	switch f.Kind {
	case String:
		n := utf8.RuneCountInString(s)
		if f.MinLen != nil && n < *f.MinLen || f.MaxLen != nil && n > *f.MaxLen {
			return bad("has a bad length")
		}
	case Datetime:
		if !isDatetime(s) {
			return bad("must be YYYY-MM-DD hh:mm:ss")
		}
		if f.Earliest != "" && s < f.Earliest || f.Latest != "" && s > f.Latest {
			return bad("is too early or too late")
		}
	case Enum:
		if !contains(f.Values, s) {
			return bad("is not one of the values")
		}
	case Ref:
		if db.Get(f.Target, s) == nil {
			return bad("no such " + f.Target)
		}
	}
	return s, nil
}

// isDatetime compares with the formatted time, as time.Parse alone is too
// lenient (one-digit hours, fractions).
func isDatetime(s string) bool {
	const layout = "2006-01-02 15:04:05"
	t, err := time.Parse(layout, s)
	return err == nil && t.Year() > 0 && t.Format(layout) == s
}

func contains(values []string, s string) bool {
	for _, v := range values {
		if v == s {
			return true
		}
	}
	return false
}
