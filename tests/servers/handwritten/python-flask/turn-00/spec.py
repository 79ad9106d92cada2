"""What the API consists of. The id is not listed: every entity has it."""
from fields import DateTime, Enum, Integer, Ref, String

ENTITIES = {
    "JuniorApartment": {
        "delivered_at": DateTime(required=True, nullable=True,
                                 high="2018-03-17 23:59:59"),
        "channel": Enum("chat", "web", "referral", "kiosk", "phone",
                        required=True, nullable=True, default="chat"),
        "net_distance_km": Integer(required=True, nullable=True, low=5, default=55),
        "old_season": Enum("dry", "off_season", "harvest", "festival", "holiday"),
    },
    "DigitalCradle": {
        "inner_shape": String(required=True, high=28, default="garnet"),
        "net_remark": String(nullable=True, high=33),
        "estimated_signed_at": DateTime(required=True, nullable=True),
        "author": String(high=31, default="anchor"),
        "attempts": Integer(required=True, high=10005),
    },
    "Storm": {
        "label": String(high=11, default="garnet"),
        "expires_at": DateTime(required=True, low="2012-08-10 00:00:00",
                               high="2013-08-17 23:59:59"),
        "parent_storm": Ref("Storm", required=True),
        "old_shipped_at": DateTime(nullable=True),
    },
}

ANALYTICS = {
    "DigitalCradle": ["attempts/avg"],
    "Storm": ["count"],
}
