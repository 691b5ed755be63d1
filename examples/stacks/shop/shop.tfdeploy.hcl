# The outputs of another stack, by its directory or an address that the settings explain.
upstream_input "network" {
  type   = "stack"
  source = "../network"
}

# Values that are kept elsewhere: settings.tfrc says where.
store "varset" "secrets" {
  name     = "shop-secrets"
  category = "terraform"
}

# Proof of who runs it, for providers that take one.
identity_token "cloud" {
  audience = ["cloud.example"]
}

# Plans that a rule approves are applied without anybody being asked.
deployment_auto_approve "grows" {
  check {
    condition = context.plan.changes.total == context.plan.changes.add
    reason    = "It touches ${context.plan.changes.change + context.plan.changes.remove} objects that are there."
  }
}

deployment_group "careful" {
  auto_approve_checks = [deployment_auto_approve.grows]
}

deployment "production" {
  deployment_group = deployment_group.careful
  inputs = {
    subnets  = upstream_input.network.subnets
    size     = 2
    password = "${store.varset.secrets.password} ${identity_token.cloud.jwt}"
  }
}
