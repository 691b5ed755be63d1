// Package cloud serves a small AWS for tests. One handler speaks the query XML, EC2 XML, JSON
// 1.0 and 1.1 and REST XML dialects that the provider hashicorp/aws needs with
// AWS_ENDPOINT_URL.
//
// It keeps what it is given for S3, IAM, SQS, SNS, DynamoDB, KMS, parameters,
// secrets and log groups, and has plausible fixed answers to the reads that plans
// make elsewhere. Time stands still and identifiers are made from names, so that
// the same calls have the same answers in any order and with any engine. It knows
// no permissions, no quotas and no delays, and believes every signature.
//
// A service is a table of calls in a file of its own. Calls missing in all tables are logged as
// "unanswered" and rejected as unknown.
package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Account is the only account there is.
const Account = "123456789012"

// now is the only moment there is.
var now = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

var instant = now.Format("2006-01-02T15:04:05Z")

// A Cloud is a whole AWS, empty at first. It is an http.Handler and safe for use
// by many at once; it answers one request after the other.
type Cloud struct {
	mu       sync.Mutex
	log      io.Writer
	services map[string]service
}

// A service is one of AWS's: a table of named calls in one dialect, or REST.
type service struct {
	dialect dialect
	calls   map[string]call
	rest    func(*request) (*answer, error)
}

// A call answers a request by what its dialect encodes: a node of XML or an object
// of JSON. Errors are of type *fault.
type call func(*request) (any, error)

// New returns an empty cloud. It writes a line to log for each request that it can't answer
// ("unanswered") or says no to ("rejected").
func New(log io.Writer) *Cloud {
	c := &Cloud{log: log, services: map[string]service{}}
	for name, s := range reads() {
		c.services[name] = s
	}
	c.services["iam"] = newIAM().service()
	c.services["s3"] = service{rest: newS3().answer}
	c.services["s3express"] = c.services["s3"]
	c.services["sqs"] = newSQS().service()
	c.services["sns"] = newSNS().service()
	c.services["dynamodb"] = newDynamoDB().service()
	c.services["kms"] = newKMS().service()
	c.services["ssm"] = newSSM().service()
	c.services["logs"] = newLogs().service()
	c.services["secretsmanager"] = newSecrets().service()
	return c
}

func (c *Cloud) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	r, err := read(h)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	a := c.answer(r)
	c.mu.Unlock()

	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("X-Amzn-Requestid", "00000000-0000-0000-0000-000000000000")
	if a.contentType != "" {
		w.Header().Set("Content-Type", a.contentType)
	}
	w.WriteHeader(a.status)
	if h.Method != http.MethodHead && a.status != http.StatusNoContent {
		_, _ = w.Write(a.body)
	}
}

func (c *Cloud) answer(r *request) *answer {
	s, known := c.services[r.service]
	if !known {
		s.dialect = r.dialect
	}
	if s.rest != nil {
		a, err := s.rest(r)
		if err != nil {
			return c.refuse(restXML, r, err)
		}
		return a
	}
	do, known := s.calls[r.call]
	if !known {
		return c.refuse(s.dialect, r, unanswered(r.call))
	}
	result, err := do(r)
	if err != nil {
		return c.refuse(s.dialect, r, err)
	}
	return s.dialect.encode(r, result)
}

func (c *Cloud) refuse(d dialect, r *request, err error) *answer {
	f, ok := err.(*fault)
	if !ok {
		f = &fault{status: http.StatusBadRequest, code: "ValidationException", message: err.Error()}
	}
	word := "refused"
	if f.unanswered {
		word = "unanswered"
	}
	what, place := r.call, r.path
	if what == "" {
		what, place = r.method, r.target
	}
	body := r.body
	if len(body) > 300 {
		body = body[:300]
	}
	fmt.Fprintf(c.log, "%s %s %s %s %s: %d %s %q\n", word, r.service, r.region, what, place, f.status, f.code, body)
	return d.refuse(r, f)
}

// A fault is an error as AWS reports it.
type fault struct {
	status     int
	code       string
	message    string
	unanswered bool // a call that isn't known here, not one that is rejected
}

func (f *fault) Error() string { return f.code + ": " + f.message }

func missing(code, what string) *fault {
	return &fault{status: http.StatusNotFound, code: code, message: what + " isn't there"}
}

func refused(code, format string, args ...any) *fault {
	return &fault{status: http.StatusBadRequest, code: code, message: fmt.Sprintf(format, args...)}
}

func unanswered(what string) *fault {
	return &fault{status: http.StatusBadRequest, code: "InvalidAction", message: what + " isn't answered here", unanswered: true}
}

// arn is the name of something in all of AWS. Services without regions have "".
func arn(service, region, resource string) string {
	return "arn:aws:" + service + ":" + region + ":" + Account + ":" + resource
}

// token makes an identifier of n capital letters and digits out of what it is for.
func token(n int, of ...string) string {
	return strings.ToUpper(hash(of)[:n])
}

// uuid makes an identifier of the usual form out of what it is for.
func uuid(of ...string) string {
	h := hash(of)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
}

func hash(of []string) string {
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return hex.EncodeToString(sum[:])
}
