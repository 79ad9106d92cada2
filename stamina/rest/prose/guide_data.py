"""Sections of the instructions: types, validation, defaults, references and how the API changes."""

from __future__ import annotations

from stamina.rest.prose.sentences import Section, Sentence

TYPES = Section(
    "Field types",
    (
        Sentence(
            'Types are strict, and nothing is converted: a value of another JSON type is bad input. The string "5" is not a number, 1 is not '
            "a boolean, true is not 1.",
            ("V1",),
        ),
        Sentence("`string`: a JSON string. The empty string is a value like any other. Bounds on the length count characters.", ("V1", "V6", "V4")),
        Sentence("`integer`: a JSON number without a fraction (2.5 is bad input), and not a boolean.", ("V1",)),
        Sentence("`float`: any JSON number, with or without a fraction, and not a boolean. Floats are 64-bit doubles.", ("V1", "V8")),
        Sentence("Integers, also the intermediate results of what the API computes, stay between -2147483647 and 2147483647.", ("V8",)),
        Sentence("`boolean`: true or false.", ("V1",)),
        Sentence(
            "`datetime`: a JSON string of exactly the form `YYYY-MM-DD hh:mm:ss`: 19 characters, one space in the middle, every part with "
            "leading zeros, no time zone, no fraction of a second.",
            ("V2",),
        ),
        Sentence(
            "A datetime must exist in the calendar: month 13, `2023-02-29`, hour 24, minute 60 and second 60 are bad input, `2024-02-29 "
            "00:00:00` is good. Datetimes of this form are in order of time when they are in order as strings.",
            ("V2",),
        ),
        Sentence("`enum`: one of the strings listed, exactly so; upper and lower case matter.", ("V4",)),
        Sentence("`reference`: the id of an object of the entity named, as a string, or null. A number or an object in its place is bad input.", ("V5", "V1")),
        Sentence(
            "`list of references`: an array of ids of objects of the entity named, all of them strings. Anything else in the array, null "
            "included, is bad input.",
            ("V5", "V1"),
        ),
    ),
)

VALIDATION = Section(
    "Validation",
    (
        Sentence(
            "Minimum and maximum, minimum and maximum length, earliest and latest are inclusive: the bound itself is allowed, the next value "
            "beyond it is bad input. Without a bound there is no limit.",
            ("V4", "S3"),
        ),
        Sentence("Each id in a reference or in a list of references must be that of an object that exists; otherwise the request is bad input.", ("V4", "V5")),
        Sentence("The same checks apply to POST and to PATCH.", ("V7",)),
        Sentence(
            "The name of a field implies no rule: a field called `email` takes any string within its bounds, one called `price` may be negative.", ("V6",)
        ),
        Sentence(
            "Null is accepted only by fields that are described as nullable, in POST and in PATCH; for any other field an explicit null is bad input.",
            ("V3", "V7"),
        ),
    ),
)

OMISSION = Section(
    "Fields that are left out",
    (
        Sentence(
            "`required` and `nullable` are two separate things. Required says that a POST must contain the field; nullable says that its value may be null.",
            ("V3",),
        ),
        Sentence("A field with a default that is left out of a POST is stored with the default, whether it is required or optional.", ("V3",)),
        Sentence("A required field without a default that is left out of a POST makes the request bad input, also when the field is nullable.", ("V3",)),
        Sentence(
            "An optional field without a default that is left out of a POST has no value, which counts as null, also when the field is "
            "non-nullable: such a field may be left out, but must not be sent as null.",
            ("V3",),
        ),
        Sentence("A nullable field that is sent as null is stored as null; the default does not take its place.", ("V3",)),
        Sentence("The empty string, 0 and false are values: they are stored, satisfy `required`, and no default takes their place.", ("V3",)),
        Sentence(
            "PATCH changes the fields that it carries and no others. A field left out of a PATCH keeps its value; defaults play no part, and "
            "required fields may be missing.",
            ("V7",),
        ),
        Sentence("PATCH with `{}` answers 200 and changes nothing.", ("V7",)),
    ),
)

REFERENCES = Section(
    "References",
    (
        Sentence(
            "References are given and returned as ids, a list of references as an array of ids. Never return the object that is referred to in their place.",
            ("V5",),
        ),
        Sentence("A single reference is always nullable and has no default; null sent for it empties it.", ("S3", "V3")),
        Sentence("A list of references that is left out of a POST is `[]`. It is never null: an explicit null is bad input.", ("S3", "V3")),
        Sentence("The order of the ids in a list does not matter.", ("H8",)),
        Sentence("A list in a PATCH takes the place of the old list; nothing is merged.", ("V7",)),
        Sentence("A field may refer to the entity that it belongs to, and an object to itself.", ("S7",)),
        Sentence(
            "When an object is deleted, every single reference to it becomes null, and its id is taken out of every list of references, in "
            "all objects of all entities.",
            ("D1",),
        ),
        Sentence(
            "That applies to required references too. No other object is deleted, and a deletion is never refused because something refers to the object.",
            ("D1",),
        ),
    ),
)

CHANGES = Section(
    "What change requests mean",
    (
        Sentence("No stored objects have to be carried over from one version of the API to the next.", ("L1",)),
        Sentence("A new entity has create, list, read, update and delete from the start, and the field `id`.", ("D6", "H1")),
        Sentence(
            "Deleting an entity takes with it its analytics endpoints, its actions, all fields of other entities that refer to it, and all "
            "conditions and effects elsewhere that involve it. The request lists these one by one.",
            ("D2",),
        ),
        Sentence(
            "Deleting a field takes with it the analytics endpoints over it and all conditions and effects that mention it; an action whose "
            "transition is on that field goes altogether. The request lists these one by one.",
            ("D2",),
        ),
        Sentence("An action that loses a condition or an effect in this way stays, and does all the rest that it did before.", ("D2",)),
        Sentence(
            "Renaming an entity changes its paths: those of its objects, its analytics and its actions. Its objects' fields, and the names "
            "of fields, enum types, values and actions anywhere, stay as they are.",
            ("D3",),
        ),
        Sentence(
            "Renaming a field changes its name everywhere: in requests, in answers, in the paths of analytics, and in the conditions, "
            "effects and transitions that mention it, of any entity. Nothing else about it changes.",
            ("D3",),
        ),
        Sentence(
            "A change of constraints sets the bounds that it names. Other bounds of the field, its type, required or optional, nullable or "
            "not, and its default stay.",
            ("D5",),
        ),
        Sentence("A new enum value is accepted like the others. The values from which an action can start stay as they are.", ("S9",)),
        Sentence("New conditions and effects go behind those that the action has. When one is removed, the others stay in their order.", ("D6",)),
    ),
)

REMOVED = Section(
    "What is gone stays gone",
    (
        Sentence(
            "When something is renamed or removed, its old path answers 404, as if it had never been there: the paths of an entity "
            "(`/thing`, `/thing/{id}`, everything below them and under `/analytics/thing`) and of an analytics endpoint.",
            ("H6",),
        ),
        Sentence("The path of a removed action answers 404 or 405, also for an object that exists.", ("H6",)),
        Sentence("The key of a removed or renamed field must not appear in any answer, not even as null.", ("H6",)),
        Sentence(
            "All this holds for the rest of the work. It also holds under later names: if `Dog` loses a field or an endpoint and is later "
            "renamed to `Hound`, `Hound` does not have it either.",
            ("H6", "S5"),
        ),
        Sentence(
            "A path or name that was given up is not used again for something new in the same place, so nothing of the old needs to be kept.", ("S5", "H6")
        ),
    ),
)
