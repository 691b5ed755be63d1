# The mail became news: its bucket is replaced in the first region and made anew
# in the second, where nobody says that it moved.
moved {
  from = module.site["mail"]
  to   = module.site["news"]
}

resource "aws_sns_topic" "alarms" {
  provider = aws.central
  name     = "alarms"
  tags     = { Sites = join(" ", [module.site_central[0].arn, module.site_central[1].arn]) }
}
