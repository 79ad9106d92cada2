package main

// The vocabulary in which model.go describes the API.

type Kind int

const (
	String Kind = iota
	Integer
	Float
	Boolean
	Datetime
	Enum
	Ref
	RefList
)

type Field struct {
	Name     string
	Kind     Kind
	Required bool
	Nullable bool
	Default  any // nil: no default

	Min, Max         *float64 // integer, float
	MinLen, MaxLen   *int     // string
	Earliest, Latest string   // datetime, "" = open
	Values           []string // enum
	Target           string   // reference, list: name of the entity
}

type Action struct {
	Name   string
	Field  string // enum field of the transition
	From   []string
	To     string
	Checks []Condition
	Does   []Effect
}

// Stat is an analytics endpoint over a field. For "count" the field is "".
type Stat struct {
	Field, Op string
}

type Entity struct {
	Name    string
	Fields  []*Field
	Actions []*Action
	Stats   []Stat
}

// Option refines a field while it is being declared.
type Option func(*Field)

func field(name string, kind Kind, opts []Option) *Field {
	f := &Field{Name: name, Kind: kind}
	for _, o := range opts {
		o(f)
	}
	return f
}

func str(name string, o ...Option) *Field      { return field(name, String, o) }
func integer(name string, o ...Option) *Field  { return field(name, Integer, o) }
func float(name string, o ...Option) *Field    { return field(name, Float, o) }
func boolean(name string, o ...Option) *Field  { return field(name, Boolean, o) }
func datetime(name string, o ...Option) *Field { return field(name, Datetime, o) }

func enum(name string, values []string, o ...Option) *Field {
	f := field(name, Enum, o)
	f.Values = values
	return f
}

func ref(name, target string, o ...Option) *Field {
	f := field(name, Ref, o)
	f.Target, f.Nullable = target, true
	return f
}

func list(name, target string, o ...Option) *Field {
	f := field(name, RefList, o)
	f.Target = target
	return f
}

func required(f *Field) { f.Required = true }
func nullable(f *Field) { f.Nullable = true }

func def(v any) Option            { return func(f *Field) { f.Default = v } }
func min(v float64) Option        { return func(f *Field) { f.Min = &v } }
func max(v float64) Option        { return func(f *Field) { f.Max = &v } }
func minLen(n int) Option         { return func(f *Field) { f.MinLen = &n } }
func maxLen(n int) Option         { return func(f *Field) { f.MaxLen = &n } }
func earliest(when string) Option { return func(f *Field) { f.Earliest = when } }
func latest(when string) Option   { return func(f *Field) { f.Latest = when } }
func oneOf(values ...string) []string {
	return values
}
