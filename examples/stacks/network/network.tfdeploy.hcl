deployment "production" {
  inputs = {
    range = "10.1.0.0/16"
    zones = ["a", "b"]
  }
}

# What other stacks may read.
publish_output "subnets" {
  value = deployment.production.subnets
}
