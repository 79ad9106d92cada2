"""What the API consists of: entities, their fields, analytics endpoints.

This file is the one to edit when the requirements change; the rules that
apply to every entity are in store.py, HTTP is in server.py.
"""

from fields import Boolean, Datetime, Enum, Float, Integer

# entity name -> field name -> field.  "id" goes without saying.
ENTITIES = {
    "PremiumSensor": {
        "gross_shipped_at": Datetime(required=True, nullable=True,
                                     low="2002-11-06 00:00:00"),
        "width": Float(required=True, nullable=True),
        "minutes": Integer(required=True, nullable=True, high=19),
        "old_condition": Enum("fair", "damaged", "broken", nullable=True),
    },
    "Order": {
        "reported_at": Datetime(required=True,
                                low="2000-12-24 00:00:00",
                                high="2016-06-26 23:59:59"),
        "distance_km": Integer(default=3),
        "longitude": Float(required=True, high=12.5, default=-17.5),
        "cost": Float(required=True, low=0.0, high=12.5),
    },
    "Kitchen": {
        "depth": Float(default=43.375),
        "shipping_needs_review": Boolean(required=True),
        "next_condition": Enum("fair", "refurbished", "good",
                               nullable=True, default="fair"),
        "temperature": Float(required=True, nullable=True,
                             low=-50.0, high=-37.5),
    },
}

# (entity, field, function); the field is None for "count"
ANALYTICS = [
    ("PremiumSensor", "width", "max"),
    ("Order", "longitude", "min"),
]
