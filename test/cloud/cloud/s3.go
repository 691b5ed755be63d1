package cloud

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// S3 keeps buckets, their settings and objects. A bucket's setting (a
// "sub-resource") is kept as the text that was put and given back as it is: the
// service's own inputs and outputs have the same form there.
type s3 struct{ buckets map[string]*bucket }

type bucket struct {
	name, region string
	settings     map[string]setting // by sub-resource, with "?id" for those that have many
	objects      map[string]*item
}

type setting struct {
	body   []byte
	header map[string]string
}

// An item is an object of S3.
type item struct {
	body    []byte
	header  map[string]string
	tagging []byte
	acl     string
}

const s3Space = ` xmlns="http://s3.amazonaws.com/doc/2006-03-01/"`

// subs are the sub-resources of buckets: what is said when one isn't there, either
// an error's code or a text.
var subs = map[string]struct {
	code string
	text node
	many bool // of which a bucket has several, each with an identifier
}{
	"cors":              {code: "NoSuchCORSConfiguration"},
	"lifecycle":         {code: "NoSuchLifecycleConfiguration"},
	"policy":            {code: "NoSuchBucketPolicy"},
	"tagging":           {code: "NoSuchTagSet"},
	"website":           {code: "NoSuchWebsiteConfiguration"},
	"replication":       {code: "ReplicationConfigurationNotFoundError"},
	"encryption":        {code: "ServerSideEncryptionConfigurationNotFoundError"},
	"object-lock":       {code: "ObjectLockConfigurationNotFoundError"},
	"publicAccessBlock": {code: "NoSuchPublicAccessBlockConfiguration"},
	"ownershipControls": {code: "OwnershipControlsNotFoundError"},

	"versioning":     {text: el("VersioningConfiguration" + s3Space)},
	"logging":        {text: el("BucketLoggingStatus" + s3Space)},
	"accelerate":     {text: el("AccelerateConfiguration" + s3Space)},
	"requestPayment": {text: el("RequestPaymentConfiguration"+s3Space, el("Payer", "BucketOwner"))},
	"notification":   {text: el("NotificationConfiguration" + s3Space)},
	"acl":            {text: acl("private")},
	"policyStatus":   {text: el("PolicyStatus"+s3Space, el("IsPublic", "FALSE"))},

	"analytics":           {code: "NoSuchConfiguration", many: true},
	"inventory":           {code: "NoSuchConfiguration", many: true},
	"metrics":             {code: "NoSuchConfiguration", many: true},
	"intelligent-tiering": {code: "NoSuchConfiguration", many: true},
}

// owner is the account's canonical name.
const owner = "75aa57f09aa0c8caeab4f8c24e99d10f8e7faeebf76c078efc7c6caea54ba06a"

func newS3() *s3 { return &s3{buckets: map[string]*bucket{}} }

func (s *s3) answer(r *request) (*answer, error) {
	name, key, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
	if name == "" {
		return s.list(), nil
	}
	b := s.buckets[name]
	sub := r.sub()
	switch {
	case key == "" && sub == "" && r.method == http.MethodPut:
		return s.create(name, r)
	case b == nil:
		return nil, &fault{status: http.StatusNotFound, code: "NoSuchBucket", message: "The specified bucket does not exist"}
	case key != "":
		return b.object(s, key, r)
	case sub != "":
		return b.setting(sub, r)
	}
	switch r.method {
	case http.MethodHead:
		return b.ok(""), nil
	case http.MethodDelete:
		if len(b.objects) > 0 {
			return nil, &fault{status: http.StatusConflict, code: "BucketNotEmpty", message: "The bucket you tried to delete is not empty"}
		}
		delete(s.buckets, name)
		return &answer{status: http.StatusNoContent}, nil
	case http.MethodPost:
		if r.query.Has("delete") {
			return b.deleteMany(r)
		}
	case http.MethodGet:
		switch {
		case r.query.Has("location"):
			region := b.region
			if region == "us-east-1" {
				region = "" // by tradition
			}
			return b.ok(el("LocationConstraint"+s3Space, region)), nil
		case r.query.Has("versions"):
			return b.ok(b.contents("ListVersionsResult", "Version", r)), nil
		case r.query.Has("uploads"):
			return b.ok(el("ListMultipartUploadsResult" + s3Space)), nil
		}
		return b.ok(b.contents("ListBucketResult", "Contents", r)), nil
	}
	return nil, unanswered(r.method + " " + r.path)
}

// sub is the sub-resource that a request names.
func (r *request) sub() string {
	for name := range r.query {
		if _, ok := subs[name]; ok {
			return name
		}
	}
	return ""
}

func (s *s3) list() *answer {
	return xmlAnswer(http.StatusOK, el("ListAllMyBucketsResult"+s3Space,
		el("Owner", texts("ID", owner, "DisplayName", "me")),
		list("Buckets", "Bucket", sorted(s.buckets), func(n string) node {
			return texts("Name", n, "CreationDate", instant, "BucketRegion", s.buckets[n].region)
		})))
}

func (s *s3) create(name string, r *request) (*answer, error) {
	if s.buckets[name] != nil {
		return nil, &fault{status: http.StatusConflict, code: "BucketAlreadyOwnedByYou", message: "you own " + name + " already"}
	}
	b := &bucket{name: name, region: r.region, settings: map[string]setting{}, objects: map[string]*item{}}
	var given struct{ LocationConstraint string }
	if xml.Unmarshal(r.body, &given) == nil && given.LocationConstraint != "" {
		b.region = given.LocationConstraint
	}
	put := func(sub string, text node) { b.settings[sub] = setting{body: []byte(text)} }
	put("encryption", el("ServerSideEncryptionConfiguration"+s3Space, el("Rule",
		el("ApplyServerSideEncryptionByDefault", el("SSEAlgorithm", "AES256")), el("BucketKeyEnabled", false))))
	put("publicAccessBlock", el("PublicAccessBlockConfiguration"+s3Space, texts(
		"BlockPublicAcls", "true", "IgnorePublicAcls", "true", "BlockPublicPolicy", "true", "RestrictPublicBuckets", "true")))
	ownership := "BucketOwnerEnforced"
	if o := r.header.Get("X-Amz-Object-Ownership"); o != "" {
		ownership = o
	}
	put("ownershipControls", el("OwnershipControls"+s3Space, el("Rule", el("ObjectOwnership", ownership))))
	if r.header.Get("X-Amz-Bucket-Object-Lock-Enabled") == "true" {
		put("object-lock", el("ObjectLockConfiguration"+s3Space, el("ObjectLockEnabled", "Enabled")))
		put("versioning", el("VersioningConfiguration"+s3Space, el("Status", "Enabled")))
	}
	if canned := r.header.Get("X-Amz-Acl"); canned != "" {
		put("acl", acl(canned))
	}
	s.buckets[name] = b
	a := b.ok("")
	a.header["Location"] = "/" + name
	return a, nil
}

func (b *bucket) ok(text node) *answer {
	a := xmlAnswer(http.StatusOK, text)
	a.header = map[string]string{"X-Amz-Bucket-Region": b.region}
	return a
}

func (b *bucket) setting(sub string, r *request) (*answer, error) {
	name := sub
	if subs[sub].many {
		if r.query.Get("id") == "" {
			return b.ok(el("List" + s3Space)), nil
		}
		name += "?" + r.query.Get("id")
	}
	switch r.method {
	case http.MethodPut:
		kept := setting{body: r.body, header: map[string]string{}}
		for _, h := range []string{"X-Amz-Transition-Default-Minimum-Object-Size"} {
			if v := r.header.Get(h); v != "" {
				kept.header[h] = v
			}
		}
		if sub == "acl" && len(r.body) == 0 {
			kept.body = []byte(acl(r.header.Get("X-Amz-Acl")))
		}
		b.settings[name] = kept
		a := b.ok("")
		for h, v := range kept.header {
			a.header[h] = v
		}
		return a, nil
	case http.MethodDelete:
		delete(b.settings, name)
		return &answer{status: http.StatusNoContent}, nil
	case http.MethodGet:
		kept, ok := b.settings[name]
		if !ok {
			if code := subs[sub].code; code != "" {
				return nil, missing(code, sub)
			}
			return b.ok(subs[sub].text), nil
		}
		a := b.ok(node(kept.body))
		if sub == "policy" {
			a.contentType = "application/json"
		}
		for h, v := range kept.header {
			a.header[h] = v
		}
		return a, nil
	}
	return nil, unanswered(r.method + " ?" + sub)
}

// acl is the text of one of the lists of grants that have names.
func acl(canned string) node {
	grant := func(grantee node, permission string) node { return el("Grant", grantee, el("Permission", permission)) }
	user := func(id string) node {
		return el(`Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"`, el("ID", id))
	}
	group := func(name string) node {
		return el(`Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="Group"`, el("URI", "http://acs.amazonaws.com/groups/"+name))
	}
	grants := []node{grant(user(owner), "FULL_CONTROL")}
	switch canned {
	case "public-read":
		grants = append(grants, grant(group("global/AllUsers"), "READ"))
	case "public-read-write":
		grants = append(grants, grant(group("global/AllUsers"), "READ"), grant(group("global/AllUsers"), "WRITE"))
	case "authenticated-read":
		grants = append(grants, grant(group("global/AuthenticatedUsers"), "READ"))
	case "log-delivery-write":
		grants = append(grants, grant(group("s3/LogDelivery"), "WRITE"), grant(group("s3/LogDelivery"), "READ_ACP"))
	}
	return el("AccessControlPolicy"+s3Space, el("Owner", el("ID", owner)), el("AccessControlList", grants))
}

// kept are the headers of an object that are given back with it.
var kept = []string{
	"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Cache-Control",
	"X-Amz-Storage-Class", "X-Amz-Server-Side-Encryption", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id",
	"X-Amz-Server-Side-Encryption-Bucket-Key-Enabled", "X-Amz-Website-Redirect-Location",
	"X-Amz-Checksum-Crc32", "X-Amz-Checksum-Crc32c", "X-Amz-Checksum-Sha1", "X-Amz-Checksum-Sha256",
}

func (b *bucket) object(s *s3, key string, r *request) (*answer, error) {
	o := b.objects[key]
	if o == nil && (r.method != http.MethodPut || r.query.Has("tagging") || r.query.Has("acl")) {
		if r.method == http.MethodDelete {
			return &answer{status: http.StatusNoContent}, nil
		}
		return nil, &fault{status: http.StatusNotFound, code: "NoSuchKey", message: key}
	}
	switch {
	case r.query.Has("tagging"):
		switch r.method {
		case http.MethodPut:
			o.tagging = r.body
		case http.MethodDelete:
			o.tagging = nil
			return &answer{status: http.StatusNoContent}, nil
		case http.MethodGet:
			if o.tagging == nil {
				return b.ok(el("Tagging"+s3Space, el("TagSet"))), nil
			}
			return b.ok(node(o.tagging)), nil
		}
		return b.ok(""), nil
	case r.query.Has("acl"):
		if r.method == http.MethodPut {
			o.acl = r.header.Get("X-Amz-Acl")
			return b.ok(""), nil
		}
		return b.ok(acl(o.acl)), nil
	}
	switch r.method {
	case http.MethodPut:
		return b.put(s, key, r)
	case http.MethodDelete:
		delete(b.objects, key)
		return &answer{status: http.StatusNoContent}, nil
	case http.MethodGet, http.MethodHead:
		a := b.ok("")
		a.contentType = ""
		a.body = o.body
		for h, v := range b.headers(key, o) {
			if !strings.HasPrefix(h, "X-Amz-Checksum-") || r.header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
				a.header[h] = v
			}
		}
		a.header["Content-Length"] = strconv.Itoa(len(o.body))
		return a, nil
	}
	return nil, unanswered(r.method + " of an object")
}

func (b *bucket) put(s *s3, key string, r *request) (*answer, error) {
	o := &item{body: r.body, header: map[string]string{}, acl: r.header.Get("X-Amz-Acl")}
	if from := r.header.Get("X-Amz-Copy-Source"); from != "" {
		from, _ = url.PathUnescape(strings.TrimPrefix(from, "/"))
		name, key, _ := strings.Cut(from, "/")
		if s.buckets[name] == nil || s.buckets[name].objects[key] == nil {
			return nil, &fault{status: http.StatusNotFound, code: "NoSuchKey", message: from}
		}
		o.body = s.buckets[name].objects[key].body
	}
	for _, h := range kept {
		if v := r.header.Get(h); v != "" {
			o.header[h] = v
		}
	}
	for h := range r.header {
		if strings.HasPrefix(h, "X-Amz-Meta-") {
			o.header[h] = r.header.Get(h)
		}
	}
	if o.header["X-Amz-Server-Side-Encryption"] == "" {
		o.header["X-Amz-Server-Side-Encryption"] = "AES256"
	}
	if given, err := url.ParseQuery(r.header.Get("X-Amz-Tagging")); err == nil && len(given) > 0 {
		o.tagging = []byte(el("Tagging"+s3Space, list("TagSet", "Tag", sorted(given), func(k string) node {
			return texts("Key", k, "Value", given.Get(k))
		})))
	}
	b.objects[key] = o
	headers := b.headers(key, o)
	a := b.ok("")
	if r.header.Get("X-Amz-Copy-Source") != "" {
		a.body = []byte(el("CopyObjectResult"+s3Space, texts("ETag", headers["Etag"], "LastModified", instant)))
	}
	for _, h := range []string{"Etag", "X-Amz-Version-Id", "X-Amz-Server-Side-Encryption"} {
		if headers[h] != "" {
			a.header[h] = headers[h]
		}
	}
	return a, nil
}

func (b *bucket) headers(key string, o *item) map[string]string {
	sum := md5.Sum(o.body)
	out := map[string]string{"Etag": `"` + hex.EncodeToString(sum[:]) + `"`, "Last-Modified": now.Format(http.TimeFormat), "Accept-Ranges": "bytes"}
	for h, v := range o.header {
		out[h] = v
	}
	if strings.Contains(string(b.settings["versioning"].body), "<Status>Enabled</Status>") {
		out["X-Amz-Version-Id"] = token(32, b.name, key, out["Etag"])
	}
	return out
}

// contents is a list of a bucket's objects.
func (b *bucket) contents(name, one string, r *request) node {
	prefix := r.query.Get("prefix")
	var nodes []node
	for _, key := range sorted(b.objects) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		o := b.objects[key]
		headers := b.headers(key, o)
		entry := texts("Key", key, "LastModified", instant, "ETag", headers["Etag"], "Size", strconv.Itoa(len(o.body)), "StorageClass", "STANDARD")
		if one == "Version" {
			version := headers["X-Amz-Version-Id"]
			if version == "" {
				version = "null"
			}
			entry += texts("VersionId", version, "IsLatest", "true")
		}
		nodes = append(nodes, el(one, entry))
	}
	return el(name+s3Space, texts("Name", b.name, "Prefix", prefix, "IsTruncated", "false", "KeyCount", strconv.Itoa(len(nodes)), "MaxKeys", "1000"), nodes)
}

func (b *bucket) deleteMany(r *request) (*answer, error) {
	var given struct {
		Object []struct{ Key string }
	}
	if err := xml.Unmarshal(r.body, &given); err != nil {
		return nil, refused("MalformedXML", "%v", err)
	}
	for _, o := range given.Object {
		delete(b.objects, o.Key)
	}
	return b.ok(list("DeleteResult"+s3Space, "Deleted", given.Object, func(o struct{ Key string }) node { return el("Key", o.Key) })), nil
}
