"""What the API consists of. The id is not listed: every entity has it."""
from actions import (Action, compare, every, field, increment, is_not_null,
                     is_null, literal, put)
from fields import DateTime, Enum, Float, Integer, Ref, RefList, String

ENTITIES = {
    "JuniorApartment": {
        "delivered_at": DateTime(required=True, nullable=True,
                                 low="2016-02-16 00:00:00",
                                 high="2018-03-17 23:59:59"),
        "channel": Enum("chat", "web", "referral", "kiosk", "phone", "mail",
                        required=True, nullable=True, default="chat"),
        "net_distance_km": Integer(required=True, nullable=True, low=-10, default=55),
        "old_season": Enum("dry", "off_season", "harvest", "festival", "holiday",
                           "winter"),
        "linked_storm": Ref("Storm", required=True),
        "related_lecture": Ref("Lecture"),
    },
    "DigitalCradle": {
        "inner_shape": String(required=True, high=28, default="garnet"),
        "gross_slug": String(nullable=True, high=33),
        "inspected_at": DateTime(required=True, nullable=True,
                                 low="2010-05-09 00:00:00",
                                 high="2010-12-07 23:59:59"),
        "third_location": String(high=31, default="anchor"),
        "stock": Integer(required=True, low=-10, high=100),
        "related_junior_apartments": RefList("JuniorApartment"),
    },
    "Storm": {
        "label": String(high=49, default="garnet"),
        "expires_at": DateTime(required=True, low="2010-12-28 00:00:00",
                               high="2012-07-27 23:59:59"),
        "parent_storm": Ref("Storm", required=True),
        "old_shipped_at": DateTime(nullable=True),
        "net_phone": String(low=6, high=34),
    },
    "Lecture": {
        "first_junior_apartment": Ref("JuniorApartment"),
        "backup_deposit": Float(required=True, default=20.875),
        "second_email": String(low=4, high=10, default="garnet"),
        "efficiency": Float(required=True, nullable=True, low=-50.0, high=-37.5),
        "lectures": RefList("Lecture"),
        "lecture": Ref("Lecture"),
    },
    "Product": {
        "former_weight": Float(required=True),
        "channel": Enum("web", "kiosk", "phone", "referral", "social", nullable=True),
        "assigned_lecture_queue": RefList("Lecture"),
        "lecture_pool": RefList("Lecture"),
        "product": Ref("Product", required=True),
    },
}

ANALYTICS = {
    "JuniorApartment": ["net_distance_km/sum"],
    "DigitalCradle": ["stock/avg", "stock/max", "count"],
    "Lecture": ["backup_deposit/avg", "backup_deposit/max", "backup_deposit/sum"],
    "Product": ["former_weight/sum", "former_weight/avg"],
}

ACTIONS = [
    Action(
        "JuniorApartment", "process",
        on="channel", start=("referral", "phone", "kiosk", "web", "chat"), end="chat",
        conditions=[
            is_null("this.delivered_at"),
            is_not_null("this.old_season"),
            is_not_null("this.linked_storm"),
        ],
        effects=[
            increment("this.net_distance_km", 5),
            put("this.linked_storm.old_shipped_at", "2008-03-19 00:00:00"),
        ],
    ),
    Action(
        "Product", "advance_jointly",
        on="channel", start=("referral", "social", "phone"), end="kiosk",
        conditions=[
            every("this.lecture_pool",
                  compare(field("item.second_email"), "==", literal("breeze"))),
            compare(field("this.channel"), "==", literal("social")),
        ],
    ),
]
