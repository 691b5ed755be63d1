import {
  to = powerdns_zone.legacy
  id = "legacy.test."
}

resource "powerdns_zone" "legacy" {
  name = "legacy.test."
  kind = "Native"
}
