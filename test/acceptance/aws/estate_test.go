// Package aws applies configurations with the real provider hashicorp/aws to a small AWS.
//
// WEIR_AWS_PROVIDER names the provider's plugin, unless it is in a usual place (see
// plugin); without it the tests are skipped.
package aws

import (
	"strings"
	"testing"
)

// A bucket alone, which the provider describes with a dozen nested blocks that are
// unknown until it is made.
func TestBucket(t *testing.T) {
	w := start(t, "bucket")
	w.Write("bucket")
	w.Run([]string{"init", "-input=false", "-no-color"})
	w.Apply("create")
	w.Settled("settled")
	w.Apply("destroy", "-destroy")
	w.unanswered()
}

// Two hundred resources in modules over three configurations of the provider.
func TestEstate(t *testing.T) {
	w := start(t, "estate")
	w.Write("create")
	w.Run([]string{"init", "-input=false", "-no-color"})
	w.Apply("create")
	w.Settled("created")

	w.Write("change")
	w.Apply("change")
	w.Settled("changed")

	w.behind(
		// made by others, to be taken over
		thing{service: "s3", region: "us-east-1", method: "PUT", target: "/legacy"},
		thing{service: "sqs", region: "us-west-2", call: "CreateQueue", params: `{"QueueName": "legacy-in"}`},
		thing{service: "sqs", region: "us-west-2", call: "CreateQueue", params: `{"QueueName": "legacy-out"}`},
		thing{service: "iam", region: "us-east-1", call: "CreateRole", params: `RoleName=legacy&AssumeRolePolicyDocument={"Version":"2012-10-17","Statement":[]}`},
		// changed and removed by others
		thing{service: "sqs", region: "us-east-1", call: "SetQueueAttributes",
			params: `{"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/orders", "Attributes": {"VisibilityTimeout": "7"}}`},
		thing{service: "iam", region: "us-east-1", call: "UpdateRole", params: "RoleName=orders-us-east-1&Description=by hand"},
		thing{service: "s3", region: "us-east-1", method: "DELETE", target: "/estate-docs/index.html"},
		thing{service: "s3", region: "us-east-1", method: "DELETE", target: "/estate-docs?policy"},
		thing{service: "s3", region: "us-west-2", method: "PUT", target: "/estate-west-docs?versioning",
			params: `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Suspended</Status></VersioningConfiguration>`},
		thing{service: "logs", region: "eu-central-1", call: "DeleteLogGroup", params: `{"logGroupName": "/estate/orders-central"}`},
		thing{service: "dynamodb", region: "us-west-2", call: "UpdateTimeToLive",
			params: `{"TableName": "orders-west-items", "TimeToLiveSpecification": {"Enabled": false, "AttributeName": "expires"}}`},
	)
	w.Write("drift")
	w.Run([]string{"import", "-input=false", "-no-color", "aws_iam_role.legacy", "legacy"})
	w.Apply("drift")
	w.Settled("restored")

	w.Apply("destroy", "-destroy")
	w.unanswered()
	w.empty()
}

// empty holds the cloud to having nothing left that was made.
func (w *world) empty() {
	w.t.Helper()
	for _, left := range []struct {
		thing
		none string
	}{
		{thing{service: "s3", region: "us-east-1", method: "GET", target: "/"}, "<Buckets></Buckets>"},
		{thing{service: "iam", region: "us-east-1", call: "ListRoles"}, "<Roles></Roles>"},
		{thing{service: "iam", region: "us-east-1", call: "ListPolicies"}, "<Policies></Policies>"},
		{thing{service: "sqs", region: "us-east-1", call: "ListQueues", params: "{}"}, `{"QueueUrls":[]}`},
		{thing{service: "sns", region: "us-east-1", call: "ListTopics"}, "<Topics></Topics>"},
		{thing{service: "dynamodb", region: "us-east-1", call: "ListTables", params: "{}"}, `{"TableNames":[]}`},
	} {
		if text := w.ask(left.thing); !strings.Contains(text, left.none) {
			w.t.Errorf("%s: %s is left", left.service, text)
		}
	}
}
