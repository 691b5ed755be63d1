package cloud_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"weir.dev/aws/cloud"
)

// A client sends requests as the AWS SDKs form them, without their signatures.
type client struct {
	t      *testing.T
	server *httptest.Server
	log    *bytes.Buffer
}

func start(t *testing.T) *client {
	log := &bytes.Buffer{}
	server := httptest.NewServer(cloud.New(log))
	t.Cleanup(server.Close)
	return &client{t, server, log}
}

func (c *client) send(r *http.Request, service, region string) (int, http.Header, string) {
	c.t.Helper()
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20240101/"+region+"/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

// query makes a call in the query dialect; params are name, value, name, value.
func (c *client) query(service, region, action string, params ...string) (int, string) {
	c.t.Helper()
	form := url.Values{"Action": {action}}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	r, _ := http.NewRequest(http.MethodPost, c.server.URL, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, _, body := c.send(r, service, region)
	return status, body
}

// json makes a call in a JSON dialect.
func (c *client) json(service, region, action, input string) (int, map[string]any) {
	c.t.Helper()
	r, _ := http.NewRequest(http.MethodPost, c.server.URL, strings.NewReader(input))
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "Service_20240101."+action)
	status, _, body := c.send(r, service, region)
	var out map[string]any
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		c.t.Fatalf("%s: %v in %s", action, err, body)
	}
	return status, out
}

// rest makes a call of S3.
func (c *client) rest(method, target, body string, header ...string) (int, http.Header, string) {
	c.t.Helper()
	r, _ := http.NewRequest(method, c.server.URL+target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return c.send(r, "s3", "us-west-2")
}

// A step is one call and what its answer has to hold.
type step struct {
	call   string
	params string // of queries "A=1&B=2", else a body
	status int
	want   string
}

// run makes the calls of one service in their order.
func (c *client) run(service, region string, steps []step) {
	c.t.Helper()
	for _, s := range steps {
		var status int
		var body string
		if strings.HasPrefix(s.params, "{") {
			var out map[string]any
			status, out = c.json(service, region, s.call, s.params)
			text, _ := json.Marshal(out)
			body = string(text)
		} else {
			form, err := url.ParseQuery(s.params)
			if err != nil {
				c.t.Fatal(err)
			}
			var pairs []string
			for k := range form {
				pairs = append(pairs, k, form.Get(k))
			}
			status, body = c.query(service, region, s.call, pairs...)
		}
		if status != s.status || !strings.Contains(body, s.want) {
			c.t.Errorf("%s %s %s: %d %s\nwant %d with %s", service, s.call, s.params, status, body, s.status, s.want)
		}
	}
}

func TestIAM(t *testing.T) {
	const own = "arn:aws:iam::123456789012:policy/p"
	start(t).run("iam", "us-east-1", []step{
		{"GetRole", "RoleName=r", 404, "<Code>NoSuchEntity</Code>"},
		{"CreateRole", "RoleName=r&Path=/a/&AssumeRolePolicyDocument={}&Tags.member.1.Key=k&Tags.member.1.Value=v%26w", 200, "<Arn>arn:aws:iam::123456789012:role/a/r</Arn>"},
		{"CreateRole", "RoleName=r", 409, "EntityAlreadyExists"},
		{"GetRole", "RoleName=r", 200, "<AssumeRolePolicyDocument>%7B%7D</AssumeRolePolicyDocument><MaxSessionDuration>3600</MaxSessionDuration><Tags><member><Key>k</Key><Value>v&amp;w</Value></member></Tags>"},
		{"UpdateRole", "RoleName=r&Description=d", 200, ""},
		{"GetRole", "RoleName=r", 200, "<Description>d</Description>"},
		{"UntagRole", "RoleName=r&TagKeys.member.1=k", 200, ""},
		{"ListRoleTags", "RoleName=r", 200, "<Tags></Tags>"},
		{"PutRolePolicy", "RoleName=r&PolicyName=i&PolicyDocument={\"a\": 1}", 200, ""},
		{"GetRolePolicy", "RoleName=r&PolicyName=i", 200, "<PolicyDocument>%7B%22a%22%3A%201%7D</PolicyDocument>"},
		{"AttachRolePolicy", "RoleName=r&PolicyArn=" + own, 404, "NoSuchEntity"},
		{"CreatePolicy", "PolicyName=p&PolicyDocument={}", 200, "<DefaultVersionId>v1</DefaultVersionId>"},
		{"AttachRolePolicy", "RoleName=r&PolicyArn=" + own, 200, ""},
		{"GetPolicy", "PolicyArn=" + own, 200, "<AttachmentCount>1</AttachmentCount>"},
		{"DeletePolicy", "PolicyArn=" + own, 409, "DeleteConflict"},
		{"CreatePolicyVersion", "PolicyArn=" + own + "&PolicyDocument=[]&SetAsDefault=true", 200, "<VersionId>v2</VersionId>"},
		{"GetPolicyVersion", "PolicyArn=" + own + "&VersionId=v2", 200, "<Document>%5B%5D</Document>"},
		{"CreateInstanceProfile", "InstanceProfileName=ip", 200, "<Roles></Roles>"},
		{"AddRoleToInstanceProfile", "InstanceProfileName=ip&RoleName=r", 200, ""},
		{"ListInstanceProfilesForRole", "RoleName=r", 200, "<InstanceProfileName>ip</InstanceProfileName>"},
		{"DetachRolePolicy", "RoleName=r&PolicyArn=" + own, 200, ""},
		{"DeleteRolePolicy", "RoleName=r&PolicyName=i", 200, ""},
		{"DeleteRole", "RoleName=r", 409, "DeleteConflict"},
		{"RemoveRoleFromInstanceProfile", "InstanceProfileName=ip&RoleName=r", 200, ""},
		{"DeleteRole", "RoleName=r", 200, ""},
		{"GetRole", "RoleName=r", 404, "NoSuchEntity"},
		{"GetPolicy", "PolicyArn=arn:aws:iam::aws:policy/ReadOnlyAccess", 200, "<PolicyName>ReadOnlyAccess</PolicyName>"},
		{"CreateGroup", "GroupName=g", 200, "<GroupName>g</GroupName>"},
		{"CreateUser", "UserName=u", 200, "<UserName>u</UserName>"},
		{"AddUserToGroup", "UserName=u&GroupName=g", 200, ""},
		{"ListGroupsForUser", "UserName=u", 200, "<GroupName>g</GroupName>"},
		{"GetGroup", "GroupName=g", 200, "<UserName>u</UserName>"},
		{"GetUser", "", 200, "user/tester"},
	})
}

func TestS3(t *testing.T) {
	c := start(t)
	const lifecycle = `<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ID>a</ID></Rule></LifecycleConfiguration>`
	for _, s := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"GET", "/b?location", "", 404, "<Code>NoSuchBucket</Code>"},
		{"PUT", "/b", "", 200, ""},
		{"PUT", "/b", "", 409, "BucketAlreadyOwnedByYou"},
		{"PUT", "/eu", `<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>`, 200, ""},
		{"GET", "/eu?location", "", 200, ">eu-west-1<"},
		{"GET", "/", "", 200, "<BucketRegion>us-west-2</BucketRegion>"},
		{"GET", "/b?lifecycle", "", 404, "NoSuchLifecycleConfiguration"},
		{"PUT", "/b?lifecycle", lifecycle, 200, ""},
		{"GET", "/b?lifecycle", "", 200, lifecycle},
		{"DELETE", "/b?lifecycle", "", 204, ""},
		{"GET", "/b?lifecycle", "", 404, "NoSuchLifecycleConfiguration"},
		{"GET", "/b?encryption", "", 200, "AES256"},
		{"GET", "/b?versioning", "", 200, "VersioningConfiguration"},
		{"GET", "/b?acl", "", 200, "FULL_CONTROL"},
		{"PUT", "/b?metrics&id=one", "<MetricsConfiguration/>", 200, ""},
		{"GET", "/b?metrics&id=two", "", 404, "NoSuchConfiguration"},
		{"GET", "/b?metrics&id=one", "", 200, "<MetricsConfiguration/>"},
		{"PUT", "/b/some//key", "text", 200, ""},
		{"GET", "/b/some//key", "", 200, "text"},
		{"GET", "/b?list-type=2&prefix=some/", "", 200, "<Key>some//key</Key>"},
		{"GET", "/b?versions", "", 200, "<VersionId>null</VersionId>"},
		{"DELETE", "/b", "", 409, "BucketNotEmpty"},
		{"POST", "/b?delete", "<Delete><Object><Key>some//key</Key></Object></Delete>", 200, "<Deleted><Key>some//key</Key></Deleted>"},
		{"GET", "/b/some//key", "", 404, "NoSuchKey"},
		{"DELETE", "/b", "", 204, ""},
		{"HEAD", "/b", "", 404, ""},
	} {
		status, _, body := c.rest(s.method, s.target, s.body)
		if status != s.status || !strings.Contains(body, s.want) {
			t.Errorf("%s %s: %d %s\nwant %d with %s", s.method, s.target, status, body, s.status, s.want)
		}
	}
}

func TestS3Object(t *testing.T) {
	c := start(t)
	c.rest("PUT", "/b", "")
	c.rest("PUT", "/b?versioning", "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
	_, put, _ := c.rest("PUT", "/b/o", "text", "X-Amz-Meta-Who", "me", "X-Amz-Tagging", "a=1&b=2", "Content-Type", "text/plain")
	status, head, _ := c.rest("HEAD", "/b/o", "")
	for name, want := range map[string]string{
		"Etag": `"1cb251ec0d568de6a929b520c4aed8d1"`, "X-Amz-Meta-Who": "me", "Content-Type": "text/plain",
		"Content-Length": "4", "X-Amz-Server-Side-Encryption": "AES256", "X-Amz-Version-Id": put.Get("X-Amz-Version-Id"),
	} {
		if got := head.Get(name); status != 200 || got != want || want == "" {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, _, tags := c.rest("GET", "/b/o?tagging", ""); !strings.Contains(tags, "<Key>b</Key><Value>2</Value>") {
		t.Errorf("tags: %s", tags)
	}
	c.rest("PUT", "/b/copy", "", "X-Amz-Copy-Source", "b/o")
	if _, _, text := c.rest("GET", "/b/copy", ""); text != "text" {
		t.Errorf("the copy is %q", text)
	}
}

func TestSQS(t *testing.T) {
	const url = `{"QueueUrl":"https://sqs.us-west-2.amazonaws.com/123456789012/q"`
	c := start(t)
	c.run("sqs", "us-west-2", []step{
		{"GetQueueAttributes", url + `}`, 400, "NonExistentQueue"},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"DelaySeconds":"5","Policy":"{}"},"tags":{"a":"1"}}`, 200, "https://sqs.us-west-2.amazonaws.com/123456789012/q"},
		{"GetQueueAttributes", url + `}`, 200, `"DelaySeconds":"5"`},
		{"SetQueueAttributes", url + `,"Attributes":{"Policy":"","KmsMasterKeyId":"k"}}`, 200, ""},
		{"GetQueueAttributes", url + `}`, 200, `"SqsManagedSseEnabled":"false"`},
		{"TagQueue", url + `,"Tags":{"b":"2"}}`, 200, ""},
		{"UntagQueue", url + `,"TagKeys":["a"]}`, 200, ""},
		{"ListQueueTags", url + `}`, 200, `{"Tags":{"b":"2"}}`},
		{"DeleteQueue", url + `}`, 200, ""},
		{"DeleteQueue", url + `}`, 400, "NonExistentQueue"},
	})
}

func TestSNS(t *testing.T) {
	const topic = "arn:aws:sns:us-west-2:123456789012:t"
	start(t).run("sns", "us-west-2", []step{
		{"GetTopicAttributes", "TopicArn=" + topic, 404, "NotFound"},
		{"CreateTopic", "Name=t&Attributes.entry.1.key=FifoTopic&Attributes.entry.1.value=true", 200, topic},
		{"SetTopicAttributes", "TopicArn=" + topic + "&AttributeName=DisplayName&AttributeValue=a<b", 200, ""},
		{"GetTopicAttributes", "TopicArn=" + topic, 200, "<key>DisplayName</key><value>a&lt;b</value>"},
		{"TagResource", "ResourceArn=" + topic + "&Tags.member.1.Key=k&Tags.member.1.Value=v", 200, ""},
		{"ListTagsForResource", "ResourceArn=" + topic, 200, "<Key>k</Key>"},
		{"Subscribe", "TopicArn=" + topic + "&Protocol=sqs&Endpoint=e", 200, topic + ":"},
		{"ListSubscriptionsByTopic", "TopicArn=" + topic, 200, "<Endpoint>e</Endpoint>"},
		{"DeleteTopic", "TopicArn=" + topic, 200, ""},
	})
}

func TestDynamoDB(t *testing.T) {
	const name = `{"TableName":"t"`
	c := start(t)
	c.run("dynamodb", "us-west-2", []step{
		{"DescribeTable", name + `}`, 400, "ResourceNotFoundException"},
		{"CreateTable", name + `,"BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"GlobalSecondaryIndexes":[{"IndexName":"i","KeySchema":[],"Projection":{"ProjectionType":"ALL"}}],"Tags":[{"Key":"a","Value":"1"}]}`, 200, `"TableArn":"arn:aws:dynamodb:us-west-2:123456789012:table/t"`},
		{"CreateTable", name + `}`, 400, "ResourceInUseException"},
		{"DescribeTable", name + `}`, 200, `"IndexName":"i"`},
		{"UpdateTable", name + `,"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"j"}},{"Delete":{"IndexName":"i"}}]}`, 200, `"IndexName":"j"`},
		{"UpdateTimeToLive", name + `,"TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}`, 200, ""},
		{"DescribeTimeToLive", name + `}`, 200, `"AttributeName":"ttl"`},
		{"UpdateContinuousBackups", name + `,"PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}`, 200, `"RecoveryPeriodInDays":35`},
		{"ListTagsOfResource", `{"ResourceArn":"arn:aws:dynamodb:us-west-2:123456789012:table/t"}`, 200, `"Key":"a"`},
		{"PutItem", name + `,"Item":{"id":{"S":"x"},"n":{"N":"1"}}}`, 200, ""},
		{"PutItem", name + `,"Item":{"id":{"S":"x"}},"ConditionExpression":"attribute_not_exists(id)"}`, 400, "ConditionalCheckFailedException"},
		{"GetItem", name + `,"Key":{"id":{"S":"x"}}}`, 200, `"N":"1"`},
		{"DeleteItem", name + `,"Key":{"id":{"S":"x"}}}`, 200, ""},
		{"GetItem", name + `,"Key":{"id":{"S":"x"}}}`, 200, `{}`},
		{"UpdateTable", name + `,"DeletionProtectionEnabled":true}`, 200, ""},
		{"DeleteTable", name + `}`, 400, "ValidationException"},
		{"UpdateTable", name + `,"DeletionProtectionEnabled":false}`, 200, ""},
		{"DeleteTable", name + `}`, 200, ""},
	})
	if _, out := c.json("dynamodb", "us-west-2", "DescribeTable", name+`}`); out["__type"] != "ResourceNotFoundException" {
		t.Errorf("the table is still there: %v", out)
	}
}

func TestKept(t *testing.T) {
	c := start(t)
	c.run("ssm", "us-east-1", []step{
		{"GetParameter", `{"Name":"/aws/service/ami-amazon-linux-latest/x"}`, 200, "ami-"},
		{"PutParameter", `{"Name":"/a","Value":"1","Type":"SecureString"}`, 200, `"Version":1`},
		{"PutParameter", `{"Name":"/a","Value":"2"}`, 400, "ParameterAlreadyExists"},
		{"PutParameter", `{"Name":"/a","Value":"2","Overwrite":true}`, 200, `"Version":2`},
		{"GetParameter", `{"Name":"/a"}`, 200, `"Value":"2"`},
		{"DeleteParameter", `{"Name":"/a"}`, 200, ""},
		{"GetParameter", `{"Name":"/a"}`, 400, "ParameterNotFound"},
	})
	c.run("logs", "us-east-1", []step{
		{"CreateLogGroup", `{"logGroupName":"/g"}`, 200, ""},
		{"PutRetentionPolicy", `{"logGroupName":"/g","retentionInDays":7}`, 200, ""},
		{"DescribeLogGroups", `{"logGroupNamePrefix":"/g"}`, 200, `"retentionInDays":7`},
		{"DeleteLogGroup", `{"logGroupName":"/g"}`, 200, ""},
		{"DescribeLogGroups", `{}`, 200, `"logGroups":[]`},
	})
	c.run("secretsmanager", "us-east-1", []step{
		{"CreateSecret", `{"Name":"s"}`, 200, "secret:s-"},
		{"GetSecretValue", `{"SecretId":"s"}`, 400, "ResourceNotFoundException"},
		{"PutSecretValue", `{"SecretId":"s","SecretString":"x"}`, 200, "AWSCURRENT"},
		{"GetSecretValue", `{"SecretId":"s"}`, 200, `"SecretString":"x"`},
		{"DeleteSecret", `{"SecretId":"s"}`, 200, ""},
		{"DescribeSecret", `{"SecretId":"s"}`, 400, "ResourceNotFoundException"},
	})
	_, made := c.json("kms", "us-east-1", "CreateKey", `{"Description":"mine"}`)
	id := made["KeyMetadata"].(map[string]any)["KeyId"].(string)
	c.run("kms", "us-east-1", []step{
		{"CreateAlias", `{"AliasName":"alias/a","TargetKeyId":"` + id + `"}`, 200, ""},
		{"DescribeKey", `{"KeyId":"alias/a"}`, 200, `"Description":"mine"`},
		{"EnableKeyRotation", `{"KeyId":"` + id + `"}`, 200, ""},
		{"GetKeyRotationStatus", `{"KeyId":"` + id + `"}`, 200, `"KeyRotationEnabled":true`},
		{"ScheduleKeyDeletion", `{"KeyId":"` + id + `"}`, 200, "PendingDeletion"},
		{"ListAliases", `{}`, 200, "alias/aws/s3"},
		{"DescribeKey", `{"KeyId":"another"}`, 200, `"KeyManager":"AWS"`},
	})
}

func TestReads(t *testing.T) {
	c := start(t)
	c.run("sts", "us-east-1", []step{
		{"GetCallerIdentity", "", 200, "<Account>123456789012</Account>"},
		{"AssumeRole", "RoleArn=arn:aws:iam::1:role/r&RoleSessionName=s", 200, "assumed-role/r/s"},
	})
	c.run("ec2", "eu-west-1", []step{
		{"DescribeAvailabilityZones", "", 200, "<zoneName>eu-west-1d</zoneName>"},
		{"DescribeSubnets", "SubnetId.1=subnet-x", 200, "<subnetId>subnet-x</subnetId>"},
		{"DescribeVpcEndpointServices", "Filter.1.Name=service-name&Filter.1.Value.1=com.x", 200, "<serviceName>com.x</serviceName>"},
		{"DescribeInstanceTypes", "InstanceType.1=m5.large", 200, "<instanceType>m5.large</instanceType>"},
		{"GetInstanceUefiData", "InstanceId=ami-x", 400, "<Code>UnsupportedOperation</Code>"},
		{"RunInstances", "", 400, "<Response><Errors><Error><Code>InvalidAction</Code>"},
	})
	c.run("organizations", "us-east-1", []step{{"DescribeOrganization", "{}", 200, "o-abcdefghij"}})
	if status, out := c.json("states", "us-east-1", "ValidateStateMachineDefinition", "{}"); status != 200 || out["result"] != "OK" {
		t.Errorf("%d %v", status, out)
	}
	for target, want := range map[string]string{
		"/2021-01-01/opensearch/compatibleVersions":        `"CompatibleVersions":[]`,
		"/2013-04-01/hostedzonesbyname?dnsname=a.example":  "<Name>a.example.</Name>",
		"/2013-04-01/hostedzone/Z1/rrset":                  "<Type>NS</Type>",
		"/2020-05-31/cache-policy":                         "Managed-CachingDisabled",
		"/2020-05-31/cache-policy/cachepolicy-1":           "Managed-CachingDisabled",
		"/2020-05-31/response-headers-policy/nothing-like": "NoSuchResponseHeadersPolicy",
	} {
		service := "route53"
		switch {
		case strings.HasPrefix(target, "/2020"):
			service = "cloudfront"
		case strings.HasPrefix(target, "/2021"):
			service = "es"
		}
		r, _ := http.NewRequest(http.MethodGet, c.server.URL+target, nil)
		if _, _, body := c.send(r, service, "us-east-1"); !strings.Contains(body, want) {
			t.Errorf("%s: %s", target, body)
		}
	}
}

// Anything that isn't answered is distinguished from what is rejected, in the dialect of the
// caller that asks.
func TestLog(t *testing.T) {
	c := start(t)
	if status, out := c.json("states", "us-east-1", "CreateStateMachine", `{"name":"x"}`); status != 400 || out["__type"] != "InvalidAction" {
		t.Errorf("%d %v", status, out)
	}
	c.query("iam", "us-east-1", "GetRole", "RoleName", "r")
	c.rest("PUT", "/none?policy", "{}")
	const want = `unanswered states us-east-1 CreateStateMachine /: 400 InvalidAction "{\"name\":\"x\"}"
refused iam us-east-1 GetRole /: 404 NoSuchEntity "Action=GetRole&RoleName=r"
refused s3 us-west-2 PUT /none?policy: 404 NoSuchBucket "{}"
`
	if got := c.log.String(); got != want {
		t.Errorf("the log is\n%swant\n%s", got, want)
	}
}

// The same calls in another order make the same things.
func TestOrder(t *testing.T) {
	describe := func(names ...string) string {
		c := start(t)
		var wait sync.WaitGroup
		for _, n := range names {
			wait.Go(func() {
				c.query("iam", "us-east-1", "CreateRole", "RoleName", n, "AssumeRolePolicyDocument", "{}")
				c.json("dynamodb", "us-east-1", "CreateTable", `{"TableName":"`+n+`"}`)
				_, key := c.json("kms", "us-east-1", "CreateKey", `{"Tags":[{"TagKey":"first","TagValue":"`+names[0]+`"}],"Description":"`+n+`"}`)
				id := key["KeyMetadata"].(map[string]any)["KeyId"].(string)
				c.json("kms", "us-east-1", "CreateAlias", `{"AliasName":"alias/`+n+`","TargetKeyId":"`+id+`"}`)
			})
		}
		wait.Wait()
		var out string
		for _, n := range []string{"a", "b", "c"} {
			_, role := c.query("iam", "us-east-1", "GetRole", "RoleName", n)
			_, table := c.json("dynamodb", "us-east-1", "DescribeTable", `{"TableName":"`+n+`"}`)
			text, _ := json.Marshal(table)
			out += role + string(text)
		}
		_, aliases := c.json("kms", "us-east-1", "ListAliases", "{}")
		text, _ := json.Marshal(aliases)
		return out + string(text)
	}
	if describe("a", "b", "c") != describe("c", "b", "a") {
		t.Error("identifiers come from the order of calls")
	}
}
