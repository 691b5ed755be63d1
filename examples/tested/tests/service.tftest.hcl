variables {
  name = "shop"
}

# weir: snapshot
# weir: generate name, machines
run "test_tier" {
  command = plan
  assert {
    condition     = length(terraform_data.machine) == var.machines
    error_message = "A test service has exactly the machines that were asked for."
  }
  assert {
    condition     = output.door == null
    error_message = "A test service must not be reachable from outside."
  }
}

# weir: snapshot
run "live_tier" {
  command = plan
  variables {
    tier = "live"
  }
  assert {
    condition     = output.names == ["live-shop-00", "live-shop-01", "live-shop-02"]
    error_message = "A live service has a spare machine."
  }
  assert {
    condition     = output.door == "live-shop-00"
    error_message = "The first machine is the door."
  }
  assert {
    condition     = alltrue([for m in terraform_data.machine : m.input.size == "large"])
    error_message = "Live machines are large."
  }
}
