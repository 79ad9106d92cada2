"""What the API consists of: entities, their fields, analytics endpoints.

This file is the one to edit when the requirements change; the rules that
apply to every entity are in store.py, HTTP is in server.py.
"""

from fields import (Boolean, Datetime, Enum, Float, Integer, Reference,
                    ReferenceList, String)

# entity name -> field name -> field.  "id" goes without saying.
ENTITIES = {
    "PremiumSensor": {
        "resumed_at": Datetime(required=True, nullable=True,
                               low="2002-11-06 00:00:00"),
        "width": Float(required=True, nullable=True, low=0.5, high=5.5),
        "lot_size": Integer(required=True, nullable=True, high=19),
        "old_condition": Enum("fair", "damaged", "broken", "worn",
                              "excellent", nullable=True),
        "collection_pool": ReferenceList("Collection"),
        "stock_level": Integer(required=True, nullable=True, low=5, high=55),
        "linked_special_loan": Reference("SpecialLoan", required=True),
    },
    "Artist": {
        "reported_at": Datetime(required=True,
                                low="2000-12-24 00:00:00",
                                high="2016-06-26 23:59:59"),
        "longitude": Float(required=True, high=12.5, default=-17.5),
        "cost": Float(required=True, low=0.5, high=12.5),
    },
    "Collection": {
        "access": Enum("observer", "guest", "moderator"),
        "points": Integer(low=0, high=20),
        "net_created_at": Datetime(low="2006-07-23 00:00:00"),
        "shipping_has_lift": Boolean(nullable=True),
        "premium_sensor": Reference("PremiumSensor"),
    },
    "SpecialLoan": {
        "status": Enum("draft", "approved", "archived", "expired",
                       "withdrawn", "rejected",
                       required=True, default="archived"),
        "collection": Reference("Collection"),
        "extra_color": String(low=1),
        "actual_density": Float(required=True, nullable=True,
                                low=-2.5, high=250.5),
        "inner_texture": String(required=True, default="jasper"),
    },
    "InnerRecipe": {
        "progress": Enum("queued", "cancelled", "blocked", nullable=True),
        "condition": Enum("restored", "good", "fair", "unknown_state",
                          required=True, default="restored"),
        "voltage": Float(low=1.0, high=1001.0),
        "inner_recipe_queue": ReferenceList("InnerRecipe"),
    },
}

# (entity, field, function); the field is None for "count"
ANALYTICS = [
    ("PremiumSensor", "width", "max"),
    ("Artist", "longitude", "min"),
    ("Collection", "points", "sum"),
    ("SpecialLoan", None, "count"),
    ("PremiumSensor", "lot_size", "max"),
    ("PremiumSensor", "width", "avg"),
    ("Artist", "longitude", "sum"),
]
