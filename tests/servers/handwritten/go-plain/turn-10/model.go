package main

func model() []*Entity {
	return []*Entity{
		{
			Name: "Bottle",
			Fields: []*Field{
				integer("age"),
				enum("extra_phase", oneOf("split", "afternoon", "early", "night", "morning", "late"),
					required, nullable, def("afternoon")),
				enum("stage", oneOf("contacted", "onboarding", "trial", "proposal"), required),
				boolean("raw_has_warranty", def(true)),
				ref("parent_cloud", "Cloud"),
			},
			Stats: []Stat{{"", "count"}},
		},
		{
			Name: "Guest",
			Fields: []*Field{
				float("recent_volume", required, min(9.75), max(109.25)),
				float("longitude", required),
				boolean("is_shared", required),
				integer("layers", nullable, min(0), max(500), def(int64(40))),
				datetime("preferred_due_at", required, nullable, earliest("2013-12-10 00:00:00")),
				ref("coastal_project", "CoastalProject"),
				ref("branch", "Branch", required),
			},
			Stats: []Stat{{"longitude", "avg"}},
		},
		{
			Name: "CoastalProject",
			Fields: []*Field{
				enum("payment_state",
					oneOf("disputed", "invoiced", "pledged", "unpaid", "partial", "settled"), required),
				ref("coastal_project", "CoastalProject"),
				integer("weekly_streak", def(int64(37))),
				float("shipping_tax_rate", nullable),
				list("bus_group", "Bottle"),
				integer("seats", max(10001), def(int64(9987))),
			},
			Stats: []Stat{{"shipping_tax_rate", "avg"}},
			Actions: []*Action{{
				Name:  "activate",
				Field: "payment_state", From: oneOf("partial", "pledged", "invoiced"), To: "unpaid",
				Checks: []Condition{
					compare(times(this("weekly_streak"), this("shipping_tax_rate")), ">=", lit(1192.5)),
					compare(this("seats"), ">", lit(9991.0)),
					compare(times(this("weekly_streak"), this("seats")), "<=", lit(100000.0)),
				},
				Does: []Effect{
					set("shipping_tax_rate", nil),
					set("shipping_tax_rate", 23.125),
				},
			}},
		},
		{
			Name: "Branch",
			Fields: []*Field{
				enum("access", oneOf("contributor", "guest", "owner", "admin", "editor", "auditor"),
					nullable, def("guest")),
				float("latitude", nullable, min(9.75), max(1009.75)),
				list("premium_equipment_group", "Guest"),
				str("comment", required, minLen(2)),
				float("early_budget", nullable, max(250), def(243.75)),
				integer("attempts", min(-10), max(90)),
			},
		},
		{
			Name: "RapidLaboratory",
			Fields: []*Field{
				enum("payment_state", oneOf("unpaid", "pledged", "overdue", "settled")),
				datetime("second_inspected_at"),
				ref("rapid_laboratory", "RapidLaboratory", required),
				enum("planned_channel",
					oneOf("social", "partner_site", "web", "mail", "kiosk", "broadcast"), required),
				datetime("initial_shipped_at"),
				datetime("arrived_at", required, nullable),
			},
			Actions: []*Action{{
				Name:  "ship_early",
				Field: "planned_channel", From: oneOf("social", "web", "mail"), To: "partner_site",
				Checks: []Condition{
					isNull(this("initial_shipped_at")),
					compare(this("payment_state"), "!=", lit("overdue")),
				},
				Does: []Effect{
					at("rapid_laboratory", "RapidLaboratory", set("rapid_laboratory", nil)),
					set("second_inspected_at", "2018-02-02 00:00:00"),
					set("payment_state", "unpaid"),
				},
			}},
		},
		{
			Name: "Cloud",
			Fields: []*Field{
				str("next_name", required),
				integer("units", required, min(0), def(int64(11))),
				ref("branch", "Branch"),
				ref("coastal_project", "CoastalProject", required),
				enum("progress", oneOf("queued", "stalled", "verified", "blocked"), nullable),
			},
		},
		{
			Name: "Person",
			Fields: []*Field{
				enum("payment_state", oneOf("disputed", "unpaid", "overdue", "refunded", "paid"),
					required, nullable),
				float("volume", required, max(49.75)),
				integer("capacity", nullable, min(0), max(100)),
				enum("main_phase", oneOf("design", "testing", "handover"), required, nullable),
				str("next_language", required, minLen(4), maxLen(51), def("maple")),
				integer("stock", required, min(0)),
			},
			Actions: []*Action{{
				Name:  "renew",
				Field: "main_phase", From: oneOf("design"), To: "handover",
				Checks: []Condition{
					compare(this("capacity"), "==", this("stock")),
				},
			}},
		},
		{
			Name: "RegionalClock",
			Fields: []*Field{
				enum("original_channel", oneOf("social", "partner_site", "referral", "kiosk")),
				list("rapid_laboratory_bundle", "RapidLaboratory"),
				integer("rooms", min(1), max(1001)),
				datetime("next_created_at", required, nullable),
			},
		},
	}
}
