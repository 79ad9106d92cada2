package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

type API struct {
	mu sync.Mutex
	db *DB
}

// reply is what a handler hands back; a nil body means no body.
type reply struct {
	status int
	body   any
}

func failure(status int, why string) reply {
	return reply{status, map[string]string{"error": why}}
}

var (
	notFound   = failure(404, "not found")
	notAllowed = failure(405, "method not allowed")
)

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	var out reply
	if err != nil {
		out = failure(400, "unreadable body")
	} else {
		out = a.guarded(r, data)
	}
	if out.body == nil {
		w.WriteHeader(out.status)
		return
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out.body); err != nil {
		log.Print("encode: ", err)
		out.status = 500
		buf.Reset()
		buf.WriteString(`{"error":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(out.status)
	w.Write(buf.Bytes())
}

func (a *API) guarded(r *http.Request, data []byte) (out reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			log.Print("panic: ", p)
			out = failure(500, "internal")
		}
	}()
	return a.route(r.Method, segments(r.URL), data)
}

func segments(u *url.URL) []string {
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i, p := range parts {
		if plain, err := url.PathUnescape(p); err == nil {
			parts[i] = plain
		}
	}
	return parts
}

func (a *API) route(method string, path []string, data []byte) reply {
	switch path[0] {
	case "reset":
		if len(path) != 1 {
			return notFound
		}
		if method != http.MethodPost {
			return notAllowed
		}
		a.db.Reset()
		return reply{204, nil}
	case "analytics":
		return a.analytics(method, path[1:])
	}
	e := a.entity(path[0])
	if e == nil {
		return notFound
	}
	switch len(path) {
	case 1:
		return a.collection(e, method, data)
	case 2:
		return a.single(e, path[1], method, data)
	case 3:
		return a.action(e, path[1], path[2], method)
	}
	return notFound
}

func (a *API) entity(segment string) *Entity {
	for _, e := range a.db.entities {
		if strings.ToLower(e.Name) == segment {
			return e
		}
	}
	return nil
}

func (a *API) collection(e *Entity, method string, data []byte) reply {
	switch method {
	case http.MethodGet:
		all := []Object{}
		for _, o := range a.db.tables[e.Name] {
			all = append(all, o.visible())
		}
		return reply{200, all}
	case http.MethodPost:
		body, err := parse(data)
		if err != nil {
			return failure(400, err.Error())
		}
		o, err := a.db.Create(e, body)
		if err != nil {
			return failure(422, err.Error())
		}
		a.db.Put(e.Name, o)
		return reply{201, o.visible()}
	}
	return notAllowed
}

func (a *API) single(e *Entity, id, method string, data []byte) reply {
	o := a.db.Get(e.Name, id)
	if o == nil {
		return notFound
	}
	switch method {
	case http.MethodGet:
		return reply{200, o.visible()}
	case http.MethodPatch:
		body, err := parse(data)
		if err != nil {
			return failure(400, err.Error())
		}
		if err := a.db.Update(e, o, body); err != nil {
			return failure(422, err.Error())
		}
		return reply{200, o.visible()}
	case http.MethodDelete:
		a.db.Delete(e.Name, id)
		return reply{204, nil}
	}
	return notAllowed
}

func (a *API) action(e *Entity, id, name, method string) reply {
	for _, act := range e.Actions {
		if act.Name != name {
			continue
		}
		if method != http.MethodPost {
			return notAllowed
		}
		o := a.db.Get(e.Name, id)
		if o == nil {
			return notFound
		}
		state, ok := o[act.Field].(string)
		if !ok || !contains(act.From, state) {
			return failure(400, name+" cannot start from here")
		}
		for _, holds := range act.Checks {
			if !holds(a.db, o) {
				return failure(409, "a condition of "+name+" does not hold")
			}
		}
		for _, do := range act.Does {
			do(a.db, o)
		}
		o[act.Field] = act.To
		return reply{200, o.visible()}
	}
	return notFound
}

func (a *API) analytics(method string, path []string) reply {
	if len(path) < 2 || len(path) > 3 {
		return notFound
	}
	e := a.entity(path[0])
	if e == nil {
		return notFound
	}
	want := Stat{Op: path[len(path)-1]}
	if len(path) == 3 {
		want.Field = path[1]
	}
	for _, s := range e.Stats {
		if s == want {
			if method != http.MethodGet {
				return notAllowed
			}
			return reply{200, map[string]any{"result": finite(a.compute(e, s))}}
		}
	}
	return notFound
}

func (a *API) compute(e *Entity, s Stat) any {
	table := a.db.tables[e.Name]
	if s.Op == "count" {
		return len(table)
	}
	var n, sum, low, high float64
	for _, o := range table {
		x, ok := number(o[s.Field])
		if !ok {
			continue
		}
		if n == 0 || x < low {
			low = x
		}
		if n == 0 || x > high {
			high = x
		}
		n++
		sum += x
	}
	if s.Op == "sum" {
		return sum
	}
	if n == 0 {
		return nil
	}
	switch s.Op {
	case "avg":
		return sum / n
	case "min":
		return low
	default:
		return high
	}
}

// finite replaces what JSON cannot say by null.
func finite(v any) any {
	if x, ok := v.(float64); ok && (math.IsInf(x, 0) || math.IsNaN(x)) {
		return nil
	}
	return v
}

// visible is the object as it goes out, safe to encode after the lock is gone.
func (o Object) visible() Object {
	out := make(Object, len(o))
	for k, v := range o {
		out[k] = finite(v)
	}
	return out
}

// parse accepts exactly one JSON object.
func parse(data []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var body map[string]any
	if err := dec.Decode(&body); err != nil {
		return nil, errors.New("body is not a JSON object")
	}
	if body == nil {
		return nil, errors.New("body is null")
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return body, nil
}
