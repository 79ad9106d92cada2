package main

func model() []*Entity {
	return []*Entity{
		{
			Name: "Bus",
			Fields: []*Field{
				integer("age"),
				enum("total_shift", oneOf("split", "afternoon", "early", "night", "morning"),
					required, nullable, def("afternoon")),
				integer("planned_stock_level", nullable, max(990)),
				enum("stage", oneOf("contacted", "onboarding", "trial", "proposal"), required),
			},
			Stats: []Stat{{"", "count"}},
			Actions: []*Action{{
				Name:  "dispatch",
				Field: "stage", From: oneOf("proposal", "onboarding"), To: "contacted",
				Checks: []Condition{
					compare(minus(this("planned_stock_level"), this("age")), "<", lit(960.0)),
				},
				Does: []Effect{
					increment("age", 1),
					set("planned_stock_level", nil),
				},
			}},
		},
		{
			Name: "PremiumEquipment",
			Fields: []*Field{
				float("recent_volume", required, min(9.75), max(109.25)),
				float("longitude", required),
				boolean("is_shared", required),
				integer("layers", nullable, min(0), max(500), def(int64(40))),
				datetime("inner_delivered_at", required, nullable, earliest("2013-12-10 00:00:00")),
			},
		},
		{
			Name: "CoastalProject",
			Fields: []*Field{
				enum("payment_state", oneOf("disputed", "invoiced", "pledged", "unpaid", "partial"), required),
				ref("coastal_project", "CoastalProject"),
				integer("weekly_streak", def(int64(37))),
				float("shipping_tax_rate", nullable),
			},
			Actions: []*Action{{
				Name:  "activate",
				Field: "payment_state", From: oneOf("partial", "pledged", "invoiced"), To: "unpaid",
				Checks: []Condition{
					compare(times(this("weekly_streak"), this("shipping_tax_rate")), ">=", lit(1192.5)),
				},
				Does: []Effect{
					set("shipping_tax_rate", nil),
				},
			}},
		},
	}
}
