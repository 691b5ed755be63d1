run "names" {
  command = plan
  variables {
    name = "Web Shop"
  }
  expect_failures = [var.name]
}

run "tiers" {
  command = plan
  variables {
    name = "shop"
    tier = "production"
  }
  expect_failures = [var.tier]
}

run "too_many" {
  command = plan
  variables {
    name     = "shop"
    machines = 21
  }
  expect_failures = [var.machines]
}
