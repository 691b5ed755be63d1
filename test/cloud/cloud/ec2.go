package cloud

import (
	"strconv"
	"strings"
)

// EC2 keeps nothing: a default VPC with three subnets, two images, and what else
// plans look up.
var ec2Calls = map[string]call{
	"DescribeAvailabilityZones":     availabilityZones,
	"DescribeRegions":               regions,
	"DescribeImages":                images,
	"DescribeVpcs":                  fixed(el("vpcSet", el("item", vpc))),
	"DescribeVpcAttribute":          fixed(vpcAttributes),
	"DescribeRouteTables":           fixed(routeTables),
	"DescribeSubnets":               subnets,
	"DescribeSecurityGroups":        fixed(securityGroups),
	"DescribeVpcEndpointServices":   endpointServices,
	"DescribePrefixLists":           prefixLists,
	"DescribeManagedPrefixLists":    managedPrefixLists,
	"GetManagedPrefixListEntries":   fixed(el("entrySet", el("item", texts("cidr", "54.231.0.0/17", "description", "x")))),
	"DescribeInstanceTypeOfferings": offerings,
	"DescribeInstanceTypes":         instanceTypes,
	"GetInstanceUefiData": func(*request) (any, error) {
		return nil, refused("UnsupportedOperation", "the image isn't started with UEFI")
	},
	"DescribeAccountAttributes": fixed(el("accountAttributeSet", el("item", el("attributeName", "supported-platforms"),
		el("attributeValueSet", el("item", el("attributeValue", "VPC")))))),
}

const vpcID = "vpc-0123456789abcdef0"

func zones(region string) []string {
	out := make([]string, 6)
	for i := range out {
		out[i] = region + string(rune('a'+i))
	}
	return out
}

func availabilityZones(r *request) (any, error) {
	return list("availabilityZoneInfo", "item", []int{0, 1, 2, 3}, func(i int) node {
		return texts("zoneName", zones(r.region)[i], "zoneId", r.region[:2]+"e1-az"+strconv.Itoa(i+1), "zoneState", "available",
			"regionName", r.region, "groupName", r.region+"-zg-1", "networkBorderGroup", r.region,
			"zoneType", "availability-zone", "optInStatus", "opt-in-not-required") + el("messageSet")
	}), nil
}

func regions(*request) (any, error) {
	all := []string{"us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-west-1", "eu-central-1"}
	return list("regionInfo", "item", all, func(n string) node {
		return texts("regionName", n, "regionEndpoint", "ec2."+n+".amazonaws.com", "optInStatus", "opt-in-not-required")
	}), nil
}

func images(*request) (any, error) {
	return list("imagesSet", "item", []string{"0", "1"}, func(i string) node {
		day := map[string]string{"0": "1", "1": "2"}[i]
		return texts("imageId", "ami-0123456789abcdef"+i, "imageLocation", "amazon/x"+i, "imageState", "available",
			"imageOwnerId", "137112412989", "isPublic", "true", "architecture", "x86_64", "imageType", "machine", "imageOwnerAlias", "amazon",
			"name", "amzn2-ami-hvm-2.0.2024030"+i+"-x86_64-gp2", "description", "AL2", "rootDeviceType", "ebs", "rootDeviceName", "/dev/xvda",
			"virtualizationType", "hvm", "hypervisor", "xen", "creationDate", "2024-03-0"+day+"T00:00:00.000Z", "enaSupport", "true") +
			el("blockDeviceMapping", el("item", el("deviceName", "/dev/xvda"), el("ebs", texts("snapshotId", "snap-0"+i,
				"volumeSize", "8", "deleteOnTermination", "true", "volumeType", "gp2", "encrypted", "false"))))
	}), nil
}

var vpc = texts("vpcId", vpcID, "ownerId", Account, "state", "available", "cidrBlock", "172.31.0.0/16",
	"dhcpOptionsId", "dopt-1", "instanceTenancy", "default", "isDefault", "true") +
	el("cidrBlockAssociationSet", el("item", texts("cidrBlock", "172.31.0.0/16", "associationId", "vpc-cidr-assoc-1"),
		el("cidrBlockState", el("state", "associated"))))

var vpcAttributes = el("vpcId", vpcID) + el("enableDnsSupport", el("value", true)) +
	el("enableDnsHostnames", el("value", true)) + el("enableNetworkAddressUsageMetrics", el("value", false))

var routeTables = el("routeTableSet", el("item", texts("routeTableId", "rtb-01", "vpcId", vpcID, "ownerId", Account), el("routeSet"),
	el("associationSet", el("item", texts("routeTableAssociationId", "rtbassoc-1", "routeTableId", "rtb-01", "main", "true")))))

var securityGroups = el("securityGroupInfo", el("item", texts("ownerId", Account, "groupId", "sg-0123456789abcdef0", "groupName", "default",
	"groupDescription", "default VPC security group", "vpcId", vpcID), el("ipPermissions"), el("ipPermissionsEgress")))

// subnets are three, or the one that is requested by its identifier.
func subnets(r *request) (any, error) {
	var ids []string
	for i := range 3 {
		ids = append(ids, "subnet-0123456789abcdef"+strconv.Itoa(i))
	}
	if one := r.text("SubnetId.1"); one != "" && r.text("SubnetId.2") == "" {
		ids = []string{one}
	}
	var nodes []node
	for i, id := range ids {
		nodes = append(nodes, el("item", texts("subnetId", id, "subnetArn", arn("ec2", r.region, "subnet/"+id), "state", "available",
			"vpcId", vpcID, "cidrBlock", "172.31."+strconv.Itoa(i*16)+".0/20", "availableIpAddressCount", "4091",
			"availabilityZone", zones(r.region)[i], "availabilityZoneId", "use1-az"+strconv.Itoa(i+1),
			"defaultForAz", "true", "mapPublicIpOnLaunch", "true", "ownerId", Account)))
	}
	return el("subnetSet", nodes), nil
}

func endpointServices(r *request) (any, error) {
	name := r.text("ServiceName.1")
	if name == "" {
		name = r.filters()["service-name"]
	}
	if name == "" {
		name = "com.amazonaws." + r.region + ".s3"
	}
	return el("serviceNameSet", el("item", name)) + el("serviceDetailSet", el("item",
		texts("serviceName", name, "serviceId", "vpce-svc-1", "owner", "amazon",
			"vpcEndpointPolicySupported", "true", "acceptanceRequired", "false", "managesVpcEndpoints", "false"),
		el("serviceType", el("item", el("serviceType", "Interface"))),
		list("availabilityZoneSet", "item", zones(r.region)[:4], func(z string) node { return node(z) }),
		el("baseEndpointDnsNameSet", el("item", name+".amazonaws.com")))), nil
}

const prefixList = "pl-63a5400a"

func prefixLists(r *request) (any, error) {
	return el("prefixListSet", el("item", texts("prefixListId", prefixList, "prefixListName", "com.amazonaws."+r.region+".s3"),
		el("cidrSet", el("item", "54.231.0.0/17")))), nil
}

func managedPrefixLists(r *request) (any, error) {
	return el("prefixListSet", el("item", texts("prefixListId", prefixList, "addressFamily", "IPv4", "state", "create-complete",
		"prefixListArn", "arn:aws:ec2:"+r.region+":aws:prefix-list/"+prefixList, "prefixListName", "com.amazonaws."+r.region+".s3",
		"maxEntries", "10", "version", "1", "ownerId", "AWS"))), nil
}

func offerings(r *request) (any, error) {
	return list("instanceTypeOfferingSet", "item", []string{"t3.micro", "t3.medium", "m5.large"}, func(t string) node {
		return texts("instanceType", t, "locationType", "region", "location", r.region)
	}), nil
}

// instanceTypes says the same of each type.
func instanceTypes(r *request) (any, error) {
	name := r.text("InstanceType.1")
	if name == "" {
		name = "t3.micro"
	}
	items := func(name string, values ...string) node {
		return list(name, "item", values, func(v string) node { return node(v) })
	}
	return el("instanceTypeSet", el("item",
		texts("instanceType", name, "currentGeneration", "true", "freeTierEligible", "false", "bareMetal", "false", "hypervisor", "nitro",
			"instanceStorageSupported", "false", "hibernationSupported", "true", "burstablePerformanceSupported", strconv.FormatBool(strings.HasPrefix(name, "t"))),
		items("supportedUsageClasses", "on-demand"), items("supportedRootDeviceTypes", "ebs"), items("supportedVirtualizationTypes", "hvm"),
		el("processorInfo", items("supportedArchitectures", "x86_64"), el("sustainedClockSpeedInGhz", "2.5")),
		el("vCpuInfo", texts("defaultVCpus", "2", "defaultCores", "1", "defaultThreadsPerCore", "2")),
		el("memoryInfo", el("sizeInMiB", 4096)),
		el("ebsInfo", texts("ebsOptimizedSupport", "default", "encryptionSupport", "supported", "nvmeSupport", "required")),
		el("networkInfo", texts("networkPerformance", "Up to 5", "maximumNetworkInterfaces", "3", "ipv4AddressesPerInterface", "4",
			"ipv6Supported", "true", "enaSupport", "required")))), nil
}
