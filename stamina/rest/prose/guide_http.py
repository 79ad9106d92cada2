"""Sections of the instructions: the work itself, the server's life, HTTP, objects and their ids."""

from __future__ import annotations

from stamina.rest.prose.sentences import Section, Sentence

WORK = Section(
    "How the work goes",
    (
        Sentence("`initial_specification.md` describes the API to begin with. Build a server for it in this directory."),
        Sentence(
            "After that you are sent change requests, one at a time. Make the changes of a request in the order in which they are numbered. "
            "Whatever neither the request nor this file touches stays exactly as it was.",
            ("D4",),
        ),
        Sentence("A change of a request is worded for the API as the changes before it have left it.", ("D4",)),
        Sentence(
            "After each step automatic tests call the server over HTTP. They check all that has been asked for so far, old parts as well as new ones, "
            "and expect nothing but what this file, the specification and the change requests say."
        ),
        Sentence("When tests fail you may be sent a report on them and asked to repair the server. The report may not show every failure."),
        Sentence(
            "Nobody is there to answer questions: no person reads along. Decide for yourself, do the work to the end, and finish only when "
            "the server does what was asked."
        ),
        Sentence(
            "Leave README.md and initial_specification.md as they are. Both are put back if they are changed. Read them again whenever you "
            "are unsure of a rule.",
            ("L3",),
        ),
    ),
)

SERVER = Section(
    "Starting the server",
    (
        Sentence(
            "The file `run_server.sh` in this directory starts the server. The tests call it as `bash run_server.sh PORT`, with this "
            "directory as the current one.",
            ("L1",),
        ),
        Sentence("PORT is any free port and differs from call to call. Listen on it on all interfaces (0.0.0.0), not on localhost alone.", ("L1",)),
        Sentence(
            "It runs in a fresh shell as the same user and with the same HOME as you. Variables that you set and environments that you "
            "activated in a shell of yours are not set there.",
            ("L1",),
        ),
        Sentence("The script may stay in the foreground for as long as the server runs, or return and leave the server running in the background.", ("L1",)),
        Sentence(
            "The server is ready as soon as it answers any HTTP request, with whatever status. That must happen within $start_seconds seconds of the call; "
            "installing or compiling in the script counts towards them.",
            ("L1",),
        ),
        Sentence(
            "The script takes care of everything that the server needs: what it depends on must be in this directory, under HOME or installed by the script. "
            "Assume that the tests may have no access to the internet.",
            ("L1",),
        ),
        Sentence(
            "The server is started afresh for every run of the tests and ended after it. It need not remember anything across restarts, so "
            "keeping all objects in memory is enough.",
            ("L1",),
        ),
        Sentence("Between two requests to you only files survive: every process that you started, servers included, is ended.", ("L1",)),
        Sentence("The server must survive whatever it is sent. Once it has crashed or stopped answering, the tests that are left count as failed.", ("L2",)),
    ),
)

HTTP = Section(
    "HTTP",
    (
        Sentence("Requests come one at a time. Answer each within $answer_seconds seconds.", ("H9",)),
        Sentence("Requests may come over one connection that is kept open or over a new one each. Both must work.", ("H9",)),
        Sentence("Requests with a body carry a JSON object and `Content-Type: application/json`. Answers with a body are JSON too.", ("H9",)),
        Sentence("Actions and `POST /reset` are called without a body, with `Content-Length: 0`. Do not ask for one, nor for a content type.", ("H9",)),
        Sentence(
            "A POST or PATCH whose body is not valid JSON, or is JSON but not an object (a list, a string, a number, null), is refused as bad input.",
            ("H9", "H2"),
        ),
        Sentence("Bad input of any kind is refused with 400 or 422; either is right. Bad input must never lead to a status of 500 or above.", ("H2",)),
        Sentence("A refused request changes nothing. In particular, a refused PATCH leaves every field as it was, those with good values too.", ("H2",)),
        Sentence(
            "`POST /reset` deletes all objects of all entities and answers 200 or 204. Each test begins with it. It is part of the server "
            "from the first version on and stays there.",
            ("H5",),
        ),
    ),
)

OBJECTS = Section(
    "Creating, reading, changing and deleting objects",
    (
        Sentence(
            "An entity's path is a slash and its name in lower case, without any separators: `UserProfile` has `/userprofile`. Below, "
            "`/thing` stands for that path and `{id}` for the id of an object.",
            ("H1",),
        ),
        Sentence("`POST /thing` creates an object from the body and answers 200 or 201 with the object as stored, all its fields included.", ("H1",)),
        Sentence("`GET /thing` answers 200 with a JSON array of all objects of the entity, in any order; `[]` when there are none.", ("H1",)),
        Sentence("`GET /thing/{id}` answers 200 with the object.", ("H1",)),
        Sentence("`PATCH /thing/{id}` changes the object and answers 200 with the whole object after the change.", ("H1", "V7")),
        Sentence("`DELETE /thing/{id}` deletes the object and answers 200 or 204. After that the id is unknown.", ("H1",)),
        Sentence("GET, PATCH and DELETE answer 404 when no object of that entity has the id.", ("H1",)),
        Sentence(
            "An object in an answer is a flat JSON object with its `id` and its fields as keys. A field without a value is null or may be "
            "left out; a reference list is always there, as an array.",
            ("H8",),
        ),
        Sentence(
            "Values come back as they were given: booleans as `true` and `false` and not as 1 and 0, strings character by character (never "
            "trimmed, never in another case), numbers with the same value (5 and 5.0 are the same number).",
            ("H8",),
        ),
    ),
)

IDS = Section(
    "Ids",
    (
        Sentence(
            "Every entity has the field `id`: a required, non-nullable string that the client gives in the POST. The server never makes one "
            "up and never alters one.",
            ("S3",),
        ),
        Sentence("A POST without `id`, with a null `id` or with an `id` that is not a string is bad input.", ("S3", "V3", "V1")),
        Sentence(
            "`id` is the key by which an object is found. It is unique within its entity; objects of different entities may have the same id.", ("S3", "S8")
        ),
        Sentence("A POST with an id that an object of the entity already has is refused with 400, 409 or 422, and that object stays as it was.", ("H3", "H2")),
        Sentence("After an object has been deleted its id may be used for a new one. References that were emptied by the deletion stay empty.", ("S8",)),
        Sentence("The tests use ids of 1 to 32 lower-case letters, digits, hyphens and underscores.", ("S8",)),
        Sentence("A PATCH may carry `id` with the object's own id. That is not an error.", ("H4",)),
        Sentence("Only `id` identifies an object. Fields whose names end in `_id`, or sound like an identifier, are fields like any other.", ("S3", "V6")),
    ),
)
