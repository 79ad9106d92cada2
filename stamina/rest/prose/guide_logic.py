"""Sections of the instructions: analytics, actions, conditions, effects, what is left open, advice."""

from __future__ import annotations

from stamina.rest.prose.sentences import Section, Sentence

ANALYTICS = Section(
    "Analytics",
    (
        Sentence(
            "`GET /analytics/thing/{field}/avg` computes the average of a numeric field over all objects of the entity; with `/min`, `/max` "
            "or `/sum` in place of `/avg` it is the smallest value, the largest value or the sum. `GET /analytics/thing/count` counts the "
            "objects. Only the endpoints that were asked for need to exist.",
            ("A1",),
        ),
        Sentence('Each answers 200 with `{"result": value}`.', ("A1",)),
        Sentence("Objects whose field is null are skipped: they add nothing to a sum and do not count in an average. `count` counts all objects.", ("A2",)),
        Sentence(
            "With no value to compute from (no objects, or null in all of them) `avg`, `min` and `max` are null and `sum` is 0. `count` is 0 "
            "when there are no objects.",
            ("A2",),
        ),
        Sentence(
            "Results are exact: do not round, and do not use integer division. The average of the integers 1 and 2 is 1.5. The tiny error of "
            "arithmetic with doubles does not matter.",
            ("A3",),
        ),
    ),
)

ACTIONS = Section(
    "Actions",
    (
        Sentence(
            "`POST /thing/{id}/name` performs the action `name` on an object. Its transition names an enum field, the values from which it "
            "can start, and the value to which it leads.",
            ("B1",),
        ),
        Sentence("Checks come in this order. First: 404 when there is no object with that id.", ("B1",)),
        Sentence("Second: 400 when the value of the enum field is not among the values from which the action can start. Null is not among them.", ("B1",)),
        Sentence("Third: 409 when one of the conditions does not hold.", ("B1", "B2")),
        Sentence(
            "Otherwise the effects take place in the order listed, then the enum field gets its new value, and the answer is 200 with the "
            "whole object as it is then.",
            ("B1", "B3"),
        ),
        Sentence("An action that is refused changes nothing, in no object.", ("B1", "H2")),
        Sentence("An action without conditions needs only the right value of the enum field.", ("B1",)),
    ),
)

CONDITIONS = Section(
    "Conditions",
    (
        Sentence("All conditions of an action must hold. `this` is the object on which the action is called, `this.x` the value of its field `x`.", ("B2",)),
        Sentence(
            "A comparison is written with `==`, `!=`, `<`, `<=`, `>` or `>=`; its right side is a literal or a field. Numbers compare by "
            "value, an integer with a float too; datetimes by time; strings exactly.",
            ("B2",),
        ),
        Sentence("Its left side may be a field, two numeric fields joined by `+`, `-` or `*`, `count(this.list)`, or `sum(this.list.x)`.", ("B2",)),
        Sentence("A comparison in which a value is null or missing is false, also with `!=`.", ("B2",)),
        Sentence("Arithmetic in which a value is null has the result null.", ("B2",)),
        Sentence("`this.x is null` holds when `x` has no value, whether it was sent as null or left out; `this.x is not null` holds when it has one.", ("B2",)),
        Sentence("`count(this.list)` is the number of ids in a list of references; 0 when it is empty.", ("B2",)),
        Sentence(
            "`sum(this.list.x)` adds up the field `x` of all objects in the list. Objects in which it is null are skipped; with nothing to add it is 0.",
            ("B2",),
        ),
        Sentence(
            "`any item in this.list satisfies item.x > 5` holds when the part after `satisfies` holds for at least one object in the list; "
            "for an empty list it is false.",
            ("B2",),
        ),
        Sentence("`every item in this.list satisfies item.x > 5` holds when it holds for each of them; for an empty list it is true.", ("B2",)),
        Sentence(
            "Behind `satisfies`, `item.x` is a field of the object in the list and `this.x` still one of the object on which the action is called.", ("B2",)
        ),
    ),
)

EFFECTS = Section(
    "Effects",
    (
        Sentence(
            "Effects take place one after another; each sees what those before it did. Conditions are checked before the first effect and not again.", ("B3",)
        ),
        Sentence("`set this.x to V` stores the literal `V` in the field: a value, `null`, or `[]`, which empties a list of references.", ("B3",)),
        Sentence("`increment this.x by N` adds `N` to the field; `N` may be negative. A field that is null stays null.", ("B3",)),
        Sentence("`set this.x to this.a + this.b` (or `-`, `*`) stores the result. If one of the two is null, the field is left as it is.", ("B3",)),
        Sentence(
            "`set this.ref.x to ...` and `increment this.ref.x by ...`, where `ref` is a reference, do the same to the object that it refers "
            "to. If the reference is null, this effect is skipped and the others still take place.",
            ("B3",),
        ),
        Sentence(
            "`for each item in this.list: ...` does the same to every object in the list; `item.x` is a field of that object. With an empty "
            "list nothing happens.",
            ("B3",),
        ),
        Sentence(
            "On the right side `this.a` is a field of the object on which the action is called, `this.ref.a` one of the object referred to, "
            "`item.a` one of the object in the list.",
            ("B3",),
        ),
        Sentence(
            "A reference or a list may lead back to the object on which the action is called. Then it is the same object: what the effect "
            "writes is in the object that is returned.",
            ("B3",),
        ),
        Sentence("What effects write to other objects is stored: a later GET of those objects shows it.", ("B3",)),
        Sentence(
            "Effects may write enum fields whatever value they have. If they write the enum field of the transition, the transition comes last and wins.",
            ("B3", "B1"),
        ),
        Sentence("Effects are not checked against minimum, maximum or lengths.", ("B4",)),
    ),
)

OPEN = Section(
    "What is left open",
    (
        Sentence(
            "The content of error answers, headers, the order of lists, and further keys in answers (except those of removed or renamed fields).", ("H7",)
        ),
        Sentence("What happens with keys in a request that belong to no field.", ("H7",)),
        Sentence("Other methods on these paths, paths in other case or with a slash at the end, redirects.", ("H7",)),
        Sentence("Whether an unknown id with an invalid body answers 404 or 400.", ("H7",)),
        Sentence("A PATCH that carries an `id` other than the object's own.", ("H4",)),
        Sentence(
            "An integer written with an empty fraction, such as 1.0; the same id twice in a list; an object that refers to itself in the "
            "very POST that creates it; characters outside ASCII.",
            ("V1", "S7", "V6"),
        ),
    ),
    "No test depends on the following; do as you like.",
)

ADVICE = Section(
    "Advice",
    (
        Sentence(
            "Expect many change requests. Code in which each rule stands in one place, used by all entities, is easier to keep right than a "
            "copy for each entity."
        ),
        Sentence("Try the server out before you finish: start it with `bash run_server.sh PORT`, call it, and check also what you did not touch."),
        Sentence("Make no changes that were not asked for."),
        Sentence(
            "End the servers that you started by their exact process id (`kill PID`). Never end processes by name or by pattern (`pkill`, "
            "`killall`): you may hit the program that runs you."
        ),
        Sentence(
            "Start a server in the background when you try it out, so that your own work does not wait for it, and give commands that might hang a time limit."
        ),
    ),
)
