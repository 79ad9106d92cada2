"""How long the ground truth takes for one request. Run: ``python scripts/bench/truth.py``.

Prints microseconds of CPU per request for each kind of request, the best of several rounds, on an entity of ten fields with a few objects stored.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from stamina.exchange import Request
from stamina.rest.expressions import Comparator, Comparison, Effect, FieldRef, IncrementBy, Literal, OnEach
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    BooleanType,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    State,
    StringType,
)
from stamina.rest.truth import Truth

ITEM = Entity("Item", (Field("price", FloatType()), Field("stock", IntegerType())))
CART = Entity(
    "Cart",
    fields=(
        Field("title", StringType(max_length=40)),
        Field("note", StringType(), required=False, nullable=True),
        Field("total", FloatType(minimum=0), required=False, default=0.0),
        Field("pieces", IntegerType(minimum=0, maximum=100)),
        Field("gift", BooleanType(), required=False, default=False),
        Field("opened", DatetimeType(earliest="2000-01-01 00:00:00")),
        Field("stage", EnumType("Stage", ("open", "paid"))),
        Field("first", ReferenceType("Item"), required=False, nullable=True),
        Field("items", ReferenceListType("Item"), required=False),
        Field("score", IntegerType(), required=False),
    ),
    analytics=(Analytics(AnalyticsOperation.AVG, "total"),),
    actions=(
        Action(
            "touch",
            "stage",
            ("open",),
            "open",
            (Comparison(FieldRef("pieces"), Comparator.GE, Literal(1)),),
            (Effect("stock", IncrementBy(1), OnEach("items")),),
        ),
    ),
)
BODY = {"title": "a cart", "pieces": 3, "opened": "2024-02-03 04:05:06", "stage": "open", "total": 12.5, "first": "i1", "items": ["i1", "i2"]}
ROUNDS, REQUESTS = 7, 400


def filled() -> Truth:
    """A truth with three items and five carts."""
    truth = Truth(State((ITEM, CART)))
    for number in range(3):
        truth.handle(Request("POST", "/item", {"id": f"i{number}", "price": 1.5, "stock": 2}))
    for number in range(5):
        truth.handle(Request("POST", "/cart", BODY | {"id": f"c{number}"}))
    return truth


def main() -> None:
    """Measure each kind of request by itself."""
    kinds = {
        "POST a new object": [Request("POST", "/cart", BODY | {"id": f"n{number}"}) for number in range(REQUESTS)],
        "POST refused": [Request("POST", "/cart", BODY | {"id": "n", "pieces": 101})] * REQUESTS,
        "GET one": [Request("GET", "/cart/c1")] * REQUESTS,
        "GET all five": [Request("GET", "/cart")] * REQUESTS,
        "PATCH": [Request("PATCH", "/cart/c1", {"pieces": 7})] * REQUESTS,
        "action": [Request("POST", "/cart/c1/touch")] * REQUESTS,
        "analytics": [Request("GET", "/analytics/cart/total/avg")] * REQUESTS,
        "DELETE": [Request("DELETE", f"/cart/d{number}") for number in range(REQUESTS)],
        "404": [Request("GET", "/basket")] * REQUESTS,
    }
    for name, requests in kinds.items():
        print(f"{name:20} {min(measure(requests) for _ in range(ROUNDS)):6.1f} µs")


def measure(requests: list[Request]) -> float:
    """Microseconds of CPU per request in one round."""
    truth = filled()
    for request in requests:
        if request.method == "DELETE":
            truth.handle(Request("POST", "/cart", BODY | {"id": request.path.rpartition("/")[2]}))
    start = time.process_time()
    for request in requests:
        truth.handle(request)
    return (time.process_time() - start) / len(requests) * 1e6


if __name__ == "__main__":
    main()
