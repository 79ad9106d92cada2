"""A server of a state in Go, on net/http alone: a struct for each entity, pointers for what may be null, bodies read field by field."""

from __future__ import annotations

import json

from tests.servers.expressions import Dialect, Place
from tests.servers.states import Action, Api, Entity, Field

_HEAD = """\
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// A state without bounded strings counts no characters.
var _ = utf8.RuneCountInString

type fields map[string]json.RawMessage

// problem is an answer that refuses.
type problem struct {
	status int
	text   string
}

func bad(format string, values ...any) *problem {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, values...)}
}

func ptr[T any](value T) *T { return &value }

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// decode reads a value that is not null; the types of Go are strict enough.
func decode[T any](raw json.RawMessage, name string) (value T, err *problem) {
	if isNull(raw) {
		return value, bad("%s must not be null", name)
	}
	if json.Unmarshal(raw, &value) != nil {
		return value, bad("%s has the wrong type", name)
	}
	return value, nil
}

func isInstant(text string) bool {
	_, err := time.Parse("2006-01-02 15:04:05", text)
	return err == nil && len(text) == 19
}

func contains(values []string, value string) bool {
	for _, each := range values {
		if each == value {
			return true
		}
	}
	return false
}

func without(values []string, value string) []string {
	left := []string{}
	for _, each := range values {
		if each != value {
			left = append(left, each)
		}
	}
	return left
}

func exists[T any](table map[string]*T, keys ...string) *problem {
	for _, key := range keys {
		if table[key] == nil {
			return bad("there is no object %q", key)
		}
	}
	return nil
}

func each[T any](table map[string]*T, keys []string) []*T {
	objects := []*T{}
	for _, key := range keys {
		objects = append(objects, table[key])
	}
	return objects
}

func some[T any](objects []*T, test func(*T) bool) bool {
	for _, object := range objects {
		if test(object) {
			return true
		}
	}
	return false
}

func every[T any](objects []*T, test func(*T) bool) bool {
	return !some(objects, func(object *T) bool { return !test(object) })
}

func sum[T any](objects []*T, value func(*T) (float64, bool)) (total float64) {
	for _, object := range objects {
		if number, there := value(object); there {
			total += number
		}
	}
	return total
}

func numbers[T any](table map[string]*T, value func(*T) (float64, bool)) []float64 {
	found := []float64{}
	for _, object := range table {
		if number, there := value(object); there {
			found = append(found, number)
		}
	}
	return found
}

func computed(operation string, values []float64) any {
	total := 0.0
	for _, value := range values {
		total += value
	}
	if operation == "sum" {
		return total
	}
	if len(values) == 0 {
		return nil
	}
	best := values[0]
	for _, value := range values {
		if (operation == "min") == (value < best) && value != best {
			best = value
		}
	}
	if operation == "avg" {
		return total / float64(len(values))
	}
	return best
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}

func refuse(w http.ResponseWriter, why *problem) { http.Error(w, why.text, why.status) }

func body(r *http.Request) (fields, *problem) {
	var found fields
	data, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(data, &found) != nil || found == nil {
		return nil, bad("the body is no JSON object")
	}
	return found, nil
}

// resource is what the handler needs of an entity with objects of type T.
type resource[T any] struct {
	table   map[string]*T
	read    func(object *T, from fields, create bool) *problem
	key     func(object *T) string
	gone    func(key string)
	actions map[string]func(this *T) *problem
}

func (res resource[T]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")[2:]
	switch {
	case len(parts) == 0 && r.Method == http.MethodGet:
		objects := []*T{}
		for _, object := range res.table {
			objects = append(objects, object)
		}
		answer(w, http.StatusOK, objects)
		return
	case len(parts) == 0 && r.Method == http.MethodPost:
		res.create(w, r)
		return
	case len(parts) == 0:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	this := res.table[parts[0]]
	if this == nil || len(parts) > 2 {
		http.NotFound(w, r)
		return
	}
	switch {
	case len(parts) == 2:
		action := res.actions[parts[1]]
		if action == nil || r.Method != http.MethodPost {
			http.NotFound(w, r)
		} else if why := action(this); why != nil {
			refuse(w, why)
		} else {
			answer(w, http.StatusOK, this)
		}
	case r.Method == http.MethodGet:
		answer(w, http.StatusOK, this)
	case r.Method == http.MethodPatch:
		res.update(w, r, this)
	case r.Method == http.MethodDelete:
		delete(res.table, parts[0])
		res.gone(parts[0])
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (res resource[T]) create(w http.ResponseWriter, r *http.Request) {
	from, why := body(r)
	object := new(T)
	if why == nil {
		why = res.read(object, from, true)
	}
	if why == nil && res.table[res.key(object)] != nil {
		why = &problem{http.StatusConflict, "this id is taken"}
	}
	if why != nil {
		refuse(w, why)
		return
	}
	res.table[res.key(object)] = object
	answer(w, http.StatusCreated, object)
}

func (res resource[T]) update(w http.ResponseWriter, r *http.Request, this *T) {
	from, why := body(r)
	changed := *this
	if why == nil {
		why = res.read(&changed, from, false)
	}
	if why != nil {
		refuse(w, why)
		return
	}
	*this = changed
	answer(w, http.StatusOK, this)
}

func analytics(path, operation string, compute func() any) {
	http.HandleFunc("/analytics/"+path, func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, map[string]any{"result": compute()})
	})
}

func serve(path string, handler http.Handler) {
	http.Handle("/"+path, handler)
	http.Handle("/"+path+"/", handler)
}
"""

_RUN = """\
set -e
[ server -nt main.go ] || go build -o server .
exec ./server "$1"
"""

_TYPES = {"integer": "int64", "float": "float64", "boolean": "bool"}


def generate(api: Api) -> dict[str, str]:
    """The files of the workspace."""
    dialect = Go(api)
    lines: list[str] = []
    for entity in api.entities:
        lines += ["", *_struct(entity), "", f"var {_table(entity)} = map[string]*{entity.name}{{}}", "", *_reader(api, entity), "", *_gone(api, entity)]
        for action in entity.actions:
            lines += ["", *_action(dialect, entity, action)]
    lines += ["", "func main() {", '\thttp.HandleFunc("/reset", func(w http.ResponseWriter, r *http.Request) {']
    lines += [f"\t\t{_table(entity)} = map[string]*{entity.name}{{}}\n\t\tserve{entity.name}.table = {_table(entity)}" for entity in api.entities]
    lines += ["\t\tw.WriteHeader(http.StatusOK)", "\t})"]
    for entity in api.entities:
        lines += [f'\tserve("{entity.path}", serve{entity.name})', *(_analytics(entity, *each) for each in entity.analytics)]
    lines += ['\tif err := http.ListenAndServe("0.0.0.0:"+os.Args[1], nil); err != nil {', "\t\tfmt.Fprintln(os.Stderr, err)", "\t\tos.Exit(1)", "\t}", "}"]
    for entity in api.entities:
        actions = ", ".join(f'"{action.name}": {_method(entity, action)}' for action in entity.actions)
        lines += ["", f"var serve{entity.name} = &resource[{entity.name}]{{", f"\ttable: {_table(entity)},", f"\tread: read{entity.name},"]
        lines += [f"\tkey: func(this *{entity.name}) string {{ return this.ID }},"]
        lines += [f"\tgone: gone{entity.name},", f"\tactions: map[string]func(*{entity.name}) *problem{{{actions}}},", "}"]
    return {"main.go": _HEAD + "\n".join(lines) + "\n", "go.mod": "module server\n\ngo 1.19\n", "run_server.sh": _RUN}


def _table(entity: Entity) -> str:
    return f"all{entity.name}"


def _name(field: Field) -> str:
    """A field of a struct: every part of the name with a capital, and an underscore between them so that no two meet."""
    return "_".join(part.capitalize() for part in field.name.split("_"))


def _method(entity: Entity, action: Action) -> str:
    return f"{action.name}Of{entity.name}"


def _type(field: Field) -> str:
    return _TYPES.get(field.kind, "string")


def _struct(entity: Entity) -> list[str]:
    lines = [f"type {entity.name} struct {{", '\tID string `json:"id"`']
    lines += [f'\t{_name(field)} {"[]string" if field.is_list else "*" + _type(field)} `json:"{field.name}"`' for field in entity.fields]
    return [*lines, "}"]


def _reader(api: Api, entity: Entity) -> list[str]:
    lines = [f"func read{entity.name}(this *{entity.name}, from fields, create bool) *problem {{"]
    lines += ['\tif raw, sent := from["id"]; create {', "\t\tif !sent {", '\t\t\treturn bad("id is required")', "\t\t}"]
    lines += ['\t\tkey, err := decode[string](raw, "id")', "\t\tif err != nil {", "\t\t\treturn err", "\t\t}", "\t\tthis.ID = key", "\t}"]
    for field in entity.fields:
        lines += [f'\tif raw, sent := from["{field.name}"]; sent {{', *("\t\t" + line for line in _sent(api, field)), *_left_out(field), "\t}"]
    return [*lines, "\treturn nil", "}"]


def _sent(api: Api, field: Field) -> list[str]:
    kind = "[]*string" if field.is_list else _type(field)
    lines = [f'value, err := decode[{kind}](raw, "{field.name}")', "if err != nil {", "\treturn err", "}"]
    refused = [(test, f'bad("{field.name} {why}")') for test, why in _tests(field)]
    for test, problem in refused:
        lines += [f"if {test} {{", f"\treturn {problem}", "}"]
    if field.is_list:
        lines += ["keys := []string{}", "for _, key := range value {", "\tif key == nil {", f'\t\treturn bad("{field.name} holds null")', "\t}"]
        lines += ["\tkeys = append(keys, *key)", "}"]
    if field.target:
        table = _table(api.entity(field.target))
        lines += [f"if why := exists({table}, {'keys...' if field.is_list else 'value'}); why != nil {{", "\treturn why", "}"]
    lines.append(f"this.{_name(field)} = {'keys' if field.is_list else '&value'}")
    if field.takes_null:
        return ["if isNull(raw) {", f"\tthis.{_name(field)} = nil", "} else {", *("\t" + line for line in lines), "}"]
    return lines


def _tests(field: Field) -> list[tuple[str, str]]:
    value, tests = {"string": "utf8.RuneCountInString(value)"}.get(field.kind, "value"), []
    if field.kind == "datetime":
        tests.append(("!isInstant(value)", "is no instant"))
    if field.kind == "enum":
        tests.append((f"!contains({_strings(field.values)}, value)", "is not one of the values"))
    if field.low is not None:
        tests.append((f"{value} < {json.dumps(field.low)}", "is too small"))
    if field.high is not None:
        tests.append((f"{value} > {json.dumps(field.high)}", "is too large"))
    return tests


def _left_out(field: Field) -> list[str]:
    if field.is_list:
        return ["\t} else if create {", f"\t\tthis.{_name(field)} = []string{{}}"]
    if field.default is not None:
        return ["\t} else if create {", f"\t\tthis.{_name(field)} = {_pointer(field.default, field)}"]
    if field.required:
        return ["\t} else if create {", f'\t\treturn bad("{field.name} is required")']
    return []


def _pointer(value: object, field: Field) -> str:
    return f"ptr[{_type(field)}]({json.dumps(value)})"


def _strings(values: tuple[str, ...]) -> str:
    return "[]string{" + ", ".join(map(json.dumps, values)) + "}"


def _gone(api: Api, entity: Entity) -> list[str]:
    lines = [f"func gone{entity.name}(key string) {{"]
    for holder, field in api.referring_to(entity):
        value = f"object.{_name(field)}"
        lines.append(f"\tfor _, object := range {_table(holder)} {{")
        if field.is_list:
            lines.append(f"\t\t{value} = without({value}, key)")
        else:
            lines += [f"\t\tif {value} != nil && *{value} == key {{", f"\t\t\t{value} = nil", "\t\t}"]
        lines.append("\t}")
    return [*lines, "}"]


def _analytics(entity: Entity, operation: str, field: str | None) -> str:
    if field is None:
        return f'\tanalytics("{entity.path}/count", "count", func() any {{ return len({_table(entity)}) }})'
    value = _number_of(entity, entity.field(field), "object")
    compute = f'computed("{operation}", numbers({_table(entity)}, {value}))'
    return f'\tanalytics("{entity.path}/{field}/{operation}", "{operation}", func() any {{ return {compute} }})'


def _number_of(entity: Entity, field: Field, variable: str) -> str:
    """A function of an object: the number in its field, and whether there is one."""
    value = f"{variable}.{_name(field)}"
    return f"func({variable} *{entity.name}) (float64, bool) {{ if {value} == nil {{ return 0, false }}; return float64(*{value}), true }}"


def _action(dialect: Go, entity: Entity, action: Action) -> list[str]:
    state = f"this.{_name(entity.field(action.enum_field))}"
    lines = [f"func {_method(entity, action)}(this *{entity.name}) *problem {{"]
    lines += [f"\tif {state} == nil || !contains({_strings(action.from_values)}, *{state}) {{", '\t\treturn bad("wrong state")', "\t}"]
    for condition in dialect.conditions(entity, action):
        lines += [f"\tif !({condition}) {{", '\t\treturn &problem{http.StatusConflict, "a condition does not hold"}', "\t}"]
    lines += ["\t" + line for line in dialect.effects(entity, action)]
    return [*lines, f"\t{state} = ptr({json.dumps(action.to_value)})", "\treturn nil", "}"]


class Go(Dialect):
    """Numbers are compared as float64, which holds every integer of the API exactly; what is stored has the field's own type."""

    AND = "&&"

    def is_null(self, place: Place, field: Field, *, null: bool) -> str:
        return f"{place.variable}.{_name(field)} {'==' if null else '!='} nil"

    def value(self, place: Place, field: Field) -> str:
        text = f"*{place.variable}.{_name(field)}"
        return f"float64({text})" if field.kind in ("integer", "float") else text

    def literal(self, value: object, field: Field | None) -> str:
        if field is None:
            return json.dumps(value)
        return "nil" if value is None else "[]string{}" if field.is_list else _pointer(value, field)

    def comparison(self, left: str, comparator: str, right: str) -> str:
        return f"{left} {comparator} {right}"

    def count(self, place: Place, field: Field) -> str:
        return f"len({place.variable}.{_name(field)})"

    def sum(self, place: Place, field: Field, item: Place, summed: Field) -> str:
        return f"sum({self.listed(place, field)}, {_number_of(item.entity, summed, item.variable)})"

    def quantified(self, quantifier: str, place: Place, field: Field, item: Place, condition: str) -> str:
        test = f"func({item.variable} *{item.entity.name}) bool {{ return {condition} }}"
        return f"{ {'any': 'some', 'all': 'every'}[quantifier] }({self.listed(place, field)}, {test})"

    def listed(self, place: Place, field: Field) -> str:
        """The objects of a list."""
        return f"each({_table(self.api.entity(field.target))}, {place.variable}.{_name(field)})"

    def store(self, place: Place, field: Field, text: str) -> str:
        pointer = text == "nil" or text.startswith(("ptr", "[]"))
        return f"{place.variable}.{_name(field)} = {text if pointer else f'ptr({_type(field)}({text}))'}"

    def when(self, guards: tuple[str, ...], lines: list[str]) -> list[str]:
        return [f"if {' && '.join(guards)} {{", *("\t" + line for line in lines), "}"]

    def with_other(self, place: Place, field: Field, other: Place, lines: list[str]) -> list[str]:
        fetched = f"{other.variable} := {_table(self.api.entity(field.target))}[*{place.variable}.{_name(field)}]"
        return self.when((self.is_null(place, field, null=False),), [fetched, *lines])

    def with_each(self, place: Place, field: Field, item: Place, lines: list[str]) -> list[str]:
        return [f"for _, {item.variable} := range {self.listed(place, field)} {{", *("\t" + line for line in lines), "}"]
