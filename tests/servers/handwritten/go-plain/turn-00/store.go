package main

// Object is a stored object: every field of its entity is a key.
// Values: string, int64, float64, bool, []string (lists), nil.
type Object map[string]any

type DB struct {
	entities []*Entity
	tables   map[string]map[string]Object // entity name -> id -> object
}

func NewDB(entities []*Entity) *DB {
	db := &DB{entities: entities}
	db.Reset()
	return db
}

func (db *DB) Reset() {
	db.tables = map[string]map[string]Object{}
	for _, e := range db.entities {
		db.tables[e.Name] = map[string]Object{}
	}
}

// Get returns nil when there is no such object.
func (db *DB) Get(entity, id string) Object { return db.tables[entity][id] }

func (db *DB) Put(entity string, o Object) { db.tables[entity][o["id"].(string)] = o }

// Delete removes an object and every mention of it.
func (db *DB) Delete(entity, id string) {
	delete(db.tables[entity], id)
	for _, e := range db.entities {
		for _, f := range e.Fields {
			if f.Target != entity {
				continue
			}
			for _, o := range db.tables[e.Name] {
				forget(o, f, id)
			}
		}
	}
}

func forget(o Object, f *Field, id string) {
	if f.Kind == Ref {
		if o[f.Name] == any(id) {
			o[f.Name] = nil
		}
		return
	}
	kept := []string{}
	for _, other := range o[f.Name].([]string) {
		if other != id {
			kept = append(kept, other)
		}
	}
	o[f.Name] = kept
}
