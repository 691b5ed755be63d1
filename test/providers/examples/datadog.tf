terraform {
  required_providers {
    datadog = { source = "datadog/datadog" }
  }
}
provider "datadog" {
  api_key  = "0123456789abcdef0123456789abcdef"
  app_key  = "0123456789abcdef0123456789abcdef01234567"
  validate = false
}
resource "datadog_monitor" "cpu" {
  name    = "CPU"
  type    = "metric alert"
  message = "The CPU is busy."
  query   = "avg(last_5m):avg:system.cpu.user{*} > 90"
}
