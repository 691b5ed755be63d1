package cloud

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A request is one call, whatever the dialect.
type request struct {
	service, region string
	dialect         dialect // as the request looks, for services nobody knows
	call            string  // empty in REST
	form            url.Values
	input           object

	method, path string
	target       string // path and query
	query        url.Values
	header       http.Header
	body         []byte
}

// An answer is what goes back.
type answer struct {
	status      int
	contentType string
	header      map[string]string
	body        []byte
}

// An object is one of JSON.
type object map[string]any

var scope = regexp.MustCompile(`Credential=[^/]*/\d+/([^/]+)/([^/]+)/aws4_request`)

// read takes a request apart. The scope of the signature reports service and region.
func read(h *http.Request) (*request, error) {
	r := &request{
		region: "us-east-1",
		method: h.Method, path: h.URL.Path, target: h.URL.RequestURI(), query: h.URL.Query(), header: h.Header,
	}
	var err error
	if r.body, err = io.ReadAll(h.Body); err != nil {
		return nil, err
	}
	if m := scope.FindStringSubmatch(h.Header.Get("Authorization")); m != nil {
		r.region, r.service = m[1], m[2]
	}
	target := h.Header.Get("X-Amz-Target")
	switch {
	case target != "":
		r.dialect = jsonText
		r.call = target[strings.LastIndex(target, ".")+1:]
		if len(r.body) > 0 {
			if err := json.Unmarshal(r.body, &r.input); err != nil {
				return nil, err
			}
		}
	case strings.HasPrefix(h.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		r.dialect = queryXML
		if r.form, err = url.ParseQuery(string(r.body)); err != nil {
			return nil, err
		}
		r.call = r.form.Get("Action")
		if r.service == "ec2" {
			r.dialect = ec2XML
		}
		if r.service == "" { // some calls of STS aren't signed
			r.service = "sts"
		}
	default:
		r.dialect = restJSON
	}
	return r, nil
}

// text is the named parameter of a query or the named field of a JSON input.
func (r *request) text(name string) string {
	if r.form != nil {
		return r.form.Get(name)
	}
	return r.input.text(name)
}

// has reports whether a parameter of a query is given, be it empty.
func (r *request) has(name string) bool { return r.form.Has(name) }

// members are the fields of a query's list by index: "Tags.member" for
// Tags.member.1.Key and so on. Of a list of plain values each has one field, "".
func (r *request) members(list string) []map[string]string {
	found := map[int]map[string]string{}
	for name, values := range r.form {
		rest, ok := strings.CutPrefix(name, list+".")
		if !ok {
			continue
		}
		index, field, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(index)
		if err != nil {
			continue
		}
		if found[n] == nil {
			found[n] = map[string]string{}
		}
		found[n][field] = values[0]
	}
	out := make([]map[string]string, 0, len(found))
	for _, n := range sorted(found) {
		out = append(out, found[n])
	}
	return out
}

// tags are the tags in a query.
func (r *request) tags() map[string]string {
	tags := map[string]string{}
	for _, m := range r.members("Tags.member") {
		tags[m["Key"]] = m["Value"]
	}
	return tags
}

// filters are the filters of a query of EC2.
func (r *request) filters() map[string]string {
	out := map[string]string{}
	for _, m := range r.members("Filter") {
		out[m["Name"]] = m["Value.1"]
	}
	return out
}

func (o object) text(name string) string {
	switch v := o[name].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func (o object) object(name string) object {
	return asObject(o[name])
}

// asObject is a value as an object: one of a request, or one made here.
func asObject(v any) object {
	switch v := v.(type) {
	case object:
		return v
	case map[string]any:
		return v
	}
	return nil
}

func (o object) list(name string) []any {
	l, _ := o[name].([]any)
	return l
}

// strings is the named field as a map of strings.
func (o object) strings(name string) map[string]string {
	out := map[string]string{}
	for k := range o.object(name) {
		out[k] = o.object(name).text(k)
	}
	return out
}

// tags are the tags in the named list, whose fields have the given names.
func (o object) tags(list, key, value string) map[string]string {
	out := map[string]string{}
	for _, item := range o.list(list) {
		tag := asObject(item)
		out[tag.text(key)] = tag.text(value)
	}
	return out
}

// tagList is the counterpart of tags.
func tagList(tags map[string]string, key, value string) []any {
	out := []any{}
	for _, k := range sorted(tags) {
		out = append(out, object{key: k, value: tags[k]})
	}
	return out
}

// untag takes the tags of a list of keys away.
func untag(tags map[string]string, keys []any) {
	for _, k := range keys {
		delete(tags, k.(string))
	}
}

// A dialect is a form of answers.
type dialect int

const (
	queryXML dialect = iota
	ec2XML
	jsonText
	restXML
	restJSON
)

func (d dialect) encode(r *request, result any) *answer {
	switch d {
	case jsonText, restJSON:
		if result == nil {
			result = object{}
		}
		body, err := json.Marshal(result)
		if err != nil {
			panic(err) // calls return objects of plain values
		}
		return &answer{status: http.StatusOK, contentType: jsonType(r), body: body}
	case ec2XML:
		inner, _ := result.(node)
		return xmlAnswer(http.StatusOK, el(r.call+"Response", el("requestId", "r"), inner))
	}
	inner, _ := result.(node)
	return xmlAnswer(http.StatusOK, el(r.call+"Response", el(r.call+"Result", inner), el("ResponseMetadata", el("RequestId", "r"))))
}

func (d dialect) refuse(r *request, f *fault) *answer {
	switch d {
	case jsonText, restJSON:
		body, _ := json.Marshal(object{"__type": f.code, "message": f.message, "Message": f.message})
		status := f.status
		if d == jsonText {
			status = http.StatusBadRequest // also for what isn't there
		}
		header := map[string]string{"X-Amzn-Errortype": f.code}
		if r.service == "sqs" {
			header["X-Amzn-Query-Error"] = f.code + ";Sender"
		}
		return &answer{status: status, contentType: jsonType(r), header: header, body: body}
	case ec2XML:
		return xmlAnswer(f.status, el("Response",
			el("Errors", el("Error", el("Code", f.code), el("Message", f.message))), el("RequestID", "r")))
	case restXML:
		if r.service == "s3" || r.service == "s3express" {
			return xmlAnswer(f.status, el("Error", el("Code", f.code), el("Message", f.message), el("RequestId", "r")))
		}
	}
	return xmlAnswer(f.status, el("ErrorResponse",
		el("Error", el("Type", "Sender"), el("Code", f.code), el("Message", f.message)), el("RequestId", "r")))
}

func jsonType(r *request) string {
	if t := r.header.Get("Content-Type"); strings.HasPrefix(t, "application/x-amz-json") {
		return t
	}
	return "application/json"
}

func xmlAnswer(status int, body node) *answer {
	return &answer{status: status, contentType: "text/xml", body: []byte(body)}
}

// A node is a piece of XML.
type node string

// el is an element. Strings in it are text; nodes are what they are.
func el(name string, inner ...any) node {
	var b strings.Builder
	b.WriteString("<" + name + ">")
	for _, i := range inner {
		switch i := i.(type) {
		case nil:
		case node:
			b.WriteString(string(i))
		case []node:
			for _, n := range i {
				b.WriteString(string(n))
			}
		case string:
			b.WriteString(escape.Replace(i))
		default:
			b.WriteString(fmt.Sprint(i))
		}
	}
	name, _, _ = strings.Cut(name, " ")
	b.WriteString("</" + name + ">")
	return node(b.String())
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", "&#xA;", "\r", "&#xD;")

// texts are elements of text: name, text, name, text.
func texts(pairs ...string) node {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString(string(el(pairs[i], pairs[i+1])))
	}
	return node(b.String())
}

// list is an element with an element for each item.
func list[T any](name, item string, items []T, inner func(T) node) node {
	nodes := make([]node, len(items))
	for i, x := range items {
		nodes[i] = el(item, inner(x))
	}
	return el(name, nodes)
}

// tagMembers is a list of tags as query services have it.
func tagMembers(tags map[string]string) node {
	return list("Tags", "member", sorted(tags), func(k string) node { return texts("Key", k, "Value", tags[k]) })
}

func sorted[K int | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
