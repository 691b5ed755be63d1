package cloud

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// reads are the services that keep nothing: answers to what plans read.
func reads() map[string]service {
	notThere := call(func(r *request) (any, error) {
		return nil, refused("ResourceNotFoundException", "the resource isn't there")
	})
	return map[string]service{
		"sts": {dialect: queryXML, calls: map[string]call{
			"GetCallerIdentity": fixed(texts("Arn", arn("iam", "", "user/tester"), "UserId", "AIDATESTER", "Account", Account)),
			"AssumeRole":        assumeRole,
		}},
		"ec2": {dialect: ec2XML, calls: ec2Calls},
		"rds": {dialect: queryXML, calls: map[string]call{
			"DescribeDBEngineVersions": engineVersions,
			"DescribeDBInstances": func(*request) (any, error) {
				return nil, missing("DBInstanceNotFound", "the instance")
			},
			"DescribeDBClusters": func(*request) (any, error) {
				return nil, missing("DBClusterNotFoundFault", "the cluster")
			},
		}},
		"elasticloadbalancing": {dialect: queryXML, calls: map[string]call{
			"DescribeLoadBalancers": func(*request) (any, error) {
				return nil, refused("LoadBalancerNotFound", "the load balancer isn't there")
			},
		}},
		"organizations": {dialect: jsonText, calls: map[string]call{
			"DescribeOrganization": fixed(object{"Organization": object{
				"Id": organization, "Arn": arn("organizations", "", "organization/"+organization), "FeatureSet": "ALL",
				"MasterAccountArn": arn("organizations", "", "account/"+organization+"/"+Account), "MasterAccountId": Account,
				"MasterAccountEmail": "a@example.com", "AvailablePolicyTypes": []any{},
			}}),
			"ListAccounts":    fixed(object{"Accounts": []any{account}}),
			"DescribeAccount": fixed(object{"Account": account}),
			"ListRoots": fixed(object{"Roots": []any{object{
				"Id": "r-abcd", "Arn": arn("organizations", "", "root/"+organization+"/r-abcd"), "Name": "Root", "PolicyTypes": []any{},
			}}}),
			"ListAWSServiceAccessForOrganization": fixed(object{"EnabledServicePrincipals": []any{}}),
		}},
		"acm": {dialect: jsonText, calls: map[string]call{"ListCertificates": fixed(object{"CertificateSummaryList": []any{}})}},
		"ecr": {dialect: jsonText, calls: map[string]call{
			"GetAuthorizationToken": func(r *request) (any, error) {
				return object{"authorizationData": []any{object{
					"authorizationToken": "QVdTOnNlY3JldA==", "expiresAt": 1900000000,
					"proxyEndpoint": "https://" + Account + ".dkr.ecr." + r.region + ".amazonaws.com",
				}}}, nil
			},
		}},
		"ecr-public": {dialect: jsonText, calls: map[string]call{
			"GetAuthorizationToken": fixed(object{"authorizationData": object{"authorizationToken": "QVdTOnNlY3JldA==", "expiresAt": 1900000000}}),
		}},
		"sso": {dialect: jsonText, calls: map[string]call{
			"ListInstances": fixed(object{"Instances": []any{object{"InstanceArn": "arn:aws:sso:::instance/ssoins-1", "IdentityStoreId": "d-1"}}}),
		}},
		"events": {dialect: jsonText, calls: map[string]call{
			"DescribeEventBus": func(r *request) (any, error) {
				name := r.text("Name")
				if name == "" {
					name = "default"
				}
				return object{"Name": name, "Arn": arn("events", r.region, "event-bus/default")}, nil
			},
		}},
		"states": {dialect: jsonText, calls: map[string]call{
			"ValidateStateMachineDefinition": fixed(object{"result": "OK", "diagnostics": []any{}, "truncated": false}),
		}},
		"ecs":        {dialect: jsonText, calls: map[string]call{"DescribeTaskDefinition": notThere, "DescribeClusters": notThere}},
		"route53":    {rest: route53},
		"cloudfront": {rest: cloudfront},
		"es": {rest: func(r *request) (*answer, error) {
			if r.method != http.MethodGet || !strings.HasSuffix(r.path, "/compatibleVersions") {
				return nil, unanswered(r.method + " " + r.path)
			}
			return restJSON.encode(r, object{"CompatibleVersions": []any{}}), nil
		}},
		"eks": {rest: func(*request) (*answer, error) {
			return restJSON.refuse(&request{header: http.Header{}}, missing("ResourceNotFoundException", "the cluster")), nil
		}},
	}
}

const organization = "o-abcdefghij"

var account = object{
	"Id": Account, "Arn": arn("organizations", "", "account/"+organization+"/"+Account),
	"Email": "a@example.com", "Name": "main", "Status": "ACTIVE",
}

// assumeRole gives credentials that are as good as all others here.
func assumeRole(r *request) (any, error) {
	name := r.text("RoleArn")
	session := r.text("RoleSessionName")
	role := name[strings.LastIndex(name, "/")+1:]
	return el("Credentials", texts("AccessKeyId", "ASIATESTER", "SecretAccessKey", "secret", "SessionToken", "session", "Expiration", "2099-01-01T00:00:00Z")) +
		el("AssumedRoleUser", texts("AssumedRoleId", "AROATESTER:"+session, "Arn", arn("sts", "", "assumed-role/"+role+"/"+session))), nil
}

func engineVersions(r *request) (any, error) {
	engine, version := r.text("Engine"), r.text("EngineVersion")
	if engine == "" {
		engine = "postgres"
	}
	if version == "" {
		version = "14.7"
	}
	return el("DBEngineVersions", el("DBEngineVersion", texts("Engine", engine, "EngineVersion", version,
		"DBParameterGroupFamily", engine+"14", "DBEngineDescription", "x", "DBEngineVersionDescription", "y", "Status", "available"))), nil
}

// route53 has one hosted zone, of any name that is requested.
func route53(r *request) (*answer, error) {
	const space = ` xmlns="https://route53.amazonaws.com/doc/2013-04-01/"`
	zone := func(name string) node {
		return el("HostedZone", texts("Id", "/hostedzone/Z0123456789ABCDEF", "Name", name, "CallerReference", "r"),
			el("Config", el("PrivateZone", false)), el("ResourceRecordSetCount", 2))
	}
	ok := func(name string, inner ...any) (*answer, error) {
		return xmlAnswer(http.StatusOK, el(name+space, inner...)), nil
	}
	if r.method != http.MethodGet {
		return nil, unanswered(r.method + " " + r.path)
	}
	path := strings.TrimSuffix(strings.TrimPrefix(r.path, "/2013-04-01/"), "/")
	switch {
	case path == "hostedzonesbyname" || path == "hostedzone":
		names := []string{"terraform-aws-modules.modules.tf.", "sharedservices.clowd.haus.", "example.com.", "testing.cloudposse.co.", "modules.cloudposse.com."}
		if r.query.Has("dnsname") {
			names = []string{strings.TrimSuffix(r.query.Get("dnsname"), ".") + "."}
		}
		var zones []node
		for _, n := range names {
			zones = append(zones, zone(n))
		}
		return ok("ListHostedZonesResponse", el("HostedZones", zones), texts("IsTruncated", "false", "MaxItems", "100"))
	case strings.HasPrefix(path, "tags/"):
		return ok("ListTagsForResourceResponse", el("ResourceTagSet", texts("ResourceType", "hostedzone", "ResourceId", "Z0123456789ABCDEF"), el("Tags")))
	case strings.HasSuffix(path, "/rrset"):
		return ok("ListResourceRecordSetsResponse", el("ResourceRecordSets", el("ResourceRecordSet", texts("Name", "example.com.", "Type", "NS", "TTL", "300"),
			el("ResourceRecords", el("ResourceRecord", el("Value", "ns-1.awsdns-1.com."))))), texts("IsTruncated", "false", "MaxItems", "100"))
	case strings.HasPrefix(path, "hostedzone/"):
		return ok("GetHostedZoneResponse", zone("example.com."), el("DelegationSet", el("NameServers", el("NameServer", "ns-1.awsdns-1.com"))))
	}
	return nil, unanswered(r.path)
}

// managed are CloudFront's own policies.
var managed = map[string]struct {
	kind  string
	names []string
}{
	"cache-policy":            {"CachePolicy", []string{"Managed-CachingOptimized", "Managed-CachingDisabled", "Managed-Amplify"}},
	"origin-request-policy":   {"OriginRequestPolicy", []string{"Managed-AllViewer", "Managed-CORS-S3Origin", "Managed-UserAgentRefererHeaders", "Managed-AllViewerExceptHostHeader"}},
	"response-headers-policy": {"ResponseHeadersPolicy", []string{"Managed-SimpleCORS", "Managed-SecurityHeadersPolicy", "Managed-CORS-With-Preflight"}},
}

func cloudfront(r *request) (*answer, error) {
	const space = ` xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"`
	parts := strings.Split(strings.Trim(r.path, "/"), "/")
	if len(parts) < 2 || r.method != http.MethodGet {
		return nil, unanswered(r.method + " " + r.path)
	}
	own, ok := managed[parts[1]]
	if !ok {
		return nil, missing("NoSuchDistribution", r.path)
	}
	id := func(i int) string { return strings.ToLower(own.kind) + "-" + strconv.Itoa(i) }
	describe := func(space string, i int) node {
		return el(own.kind+space, texts("Id", id(i), "LastModifiedTime", instant),
			el(own.kind+"Config", texts("Name", own.names[i], "Comment", "c", "MinTTL", "1")))
	}
	if len(parts) == 2 {
		var all []node
		for i := range own.names {
			all = append(all, el(own.kind+"Summary", el("Type", "managed"), describe("", i)))
		}
		return xmlAnswer(http.StatusOK, el(own.kind+"List"+space, el("MaxItems", 100), el("Quantity", len(all)), el("Items", all))), nil
	}
	i := slices.IndexFunc(own.names, func(n string) bool { return id(slices.Index(own.names, n)) == parts[2] })
	if i < 0 {
		return nil, missing("NoSuch"+own.kind, parts[2])
	}
	a := xmlAnswer(http.StatusOK, describe(space, i))
	a.header = map[string]string{"Etag": "E1"}
	return a, nil
}
