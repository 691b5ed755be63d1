package testservers

import (
	"crypto/sha1" // #nosec G505 -- what the service wants
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Tencent is COS with a bucket, the API for tags and roles, and the metadata service of CVM,
// as far as backends ask. A caller that asks as key has the secret "secret", and what is
// handed out is checked as well. Make it with NewTencent.
type Tencent struct {
	Bucket

	account sync.Mutex
	tags    map[string]bool // KEY:VALUE
	asked   []map[string]any
}

// NewTencent makes one.
func NewTencent() *Tencent {
	s := &Tencent{tags: map[string]bool{}}
	s.vendor, s.verify = "X-Cos-", verifyCOS
	return s
}

// Tags are those of the account, as KEY:VALUE.
func (s *Tencent) Tags() (all []string) {
	s.account.Lock()
	defer s.account.Unlock()
	for tag := range s.tags {
		all = append(all, tag)
	}
	return all
}

// Tag makes a tag, KEY:VALUE.
func (s *Tencent) Tag(tag string) {
	s.account.Lock()
	defer s.account.Unlock()
	s.tags[tag] = true
}

// Assumed is what STS was asked for.
func (s *Tencent) Assumed() []map[string]any {
	s.account.Lock()
	defer s.account.Unlock()
	return s.asked
}

// ServeHTTP implements http.Handler.
func (s *Tencent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("X-Tc-Action") != "":
		s.call(w, r)
	case strings.HasPrefix(r.URL.Path, "/latest/meta-data/cam/security-credentials/"):
		fmt.Fprint(w, `{"Code":"Success","TmpSecretId":"temporary","TmpSecretKey":"secret","Token":"token","ExpiredTime":4070908800}`)
	default:
		s.Bucket.ServeHTTP(w, r)
	}
}

func (s *Tencent) call(w http.ResponseWriter, r *http.Request) {
	s.account.Lock()
	defer s.account.Unlock()
	body := bodyOf(r)
	answer := func(response map[string]any) {
		response["RequestId"] = "request"
		_ = json.NewEncoder(w).Encode(map[string]any{"Response": response})
	}
	refuse := func(code, message string) {
		answer(map[string]any{"Error": map[string]string{"Code": code, "Message": message}})
	}
	if err := verifyTC3(r, body); err != nil {
		refuse("AuthFailure.SignatureFailure", err.Error())
		return
	}
	var ask map[string]any
	_ = json.Unmarshal(body, &ask)
	tag := fmt.Sprintf("%v:%v", ask["TagKey"], ask["TagValue"])
	switch r.Header.Get("X-Tc-Action") {
	case "CreateTag":
		if s.tags[tag] {
			refuse("ResourceInUse.TagDuplicate", "tagKey-tagValue have exists.")
			return
		}
		s.tags[tag] = true
		answer(map[string]any{})
	case "DeleteTag":
		if !s.tags[tag] {
			refuse("ResourceNotFound.TagNonExist", "tagKey-tagValue not exists.")
			return
		}
		delete(s.tags, tag)
		answer(map[string]any{})
	case "DescribeTags":
		found := []map[string]any{}
		if s.tags[tag] {
			found = append(found, map[string]any{"TagKey": ask["TagKey"], "TagValue": ask["TagValue"], "CanDelete": 1})
		}
		answer(map[string]any{"Tags": found, "TotalCount": len(found), "Offset": 0, "Limit": 15})
	case "AssumeRole":
		s.asked = append(s.asked, ask)
		answer(map[string]any{"ExpiredTime": 4070908800, "Expiration": "2099-01-01T00:00:00Z",
			"Credentials": map[string]string{"TmpSecretId": "temporary", "TmpSecretKey": "secret", "Token": "token"}})
	default:
		refuse("InvalidAction", "there is no such action")
	}
}

// verifyTC3 checks the signature of a call of the API.
func verifyTC3(r *http.Request, body []byte) error {
	rest, found := strings.CutPrefix(r.Header.Get("Authorization"), "TC3-HMAC-SHA256 Credential=")
	credential, rest, _ := strings.Cut(rest, ", SignedHeaders=")
	signed, got, _ := strings.Cut(rest, ", Signature=")
	id, scope, _ := strings.Cut(credential, "/")
	parts := strings.Split(scope, "/")
	seconds, err := strconv.ParseInt(r.Header.Get("X-Tc-Timestamp"), 10, 64)
	if !found || len(parts) != 3 || err != nil {
		return errors.New("there is no signature")
	}
	headers := ""
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		headers += name + ":" + strings.ToLower(value) + "\n"
	}
	payload := sha256.Sum256(body)
	canonical := sha256.Sum256([]byte("POST\n/\n\n" + headers + "\n" + signed + "\n" + hex.EncodeToString(payload[:])))
	text := "TC3-HMAC-SHA256\n" + r.Header.Get("X-Tc-Timestamp") + "\n" + scope + "\n" + hex.EncodeToString(canonical[:])
	k := "TC3secret"
	for _, part := range parts {
		k = string(macOf(sha256.New, k, part))
	}
	if got != hex.EncodeToString(macOf(sha256.New, k, text)) || parts[0] != time.Unix(seconds, 0).UTC().Format(time.DateOnly) {
		return errors.New("the signature isn't right")
	}
	return knows(id, r.Header.Get("X-Tc-Token"))
}

// verifyCOS checks the signature of a request to COS.
func verifyCOS(r *http.Request, _ string) error {
	said := map[string]string{}
	for part := range strings.SplitSeq(r.Header.Get("Authorization"), "&") {
		name, value, _ := strings.Cut(part, "=")
		said[name] = value
	}
	if said["q-signature"] == "" {
		return errors.New("there is no signature")
	}
	listed := func(list string, value func(string) string) string {
		var all []string
		for name := range strings.SplitSeq(list, ";") {
			if plain, _ := url.QueryUnescape(name); plain != "" {
				all = append(all, name+"="+strings.ReplaceAll(url.QueryEscape(value(plain)), "+", "%20"))
			}
		}
		slices.Sort(all)
		return strings.Join(all, "&")
	}
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		query[strings.ToLower(name)] = values[0]
	}
	headers := listed(said["q-header-list"], func(name string) string {
		if name == "host" {
			return r.Host
		}
		if name == "content-length" {
			return strconv.FormatInt(r.ContentLength, 10)
		}
		return r.Header.Get(name)
	})
	text := strings.ToLower(r.Method) + "\n" + r.URL.Path + "\n" + listed(said["q-url-param-list"], func(name string) string { return query[name] }) + "\n" + headers + "\n"
	sum := sha1.Sum([]byte(text))
	k := hex.EncodeToString(macOf(sha1.New, "secret", said["q-key-time"]))
	if want := hex.EncodeToString(macOf(sha1.New, k, "sha1\n"+said["q-sign-time"]+"\n"+hex.EncodeToString(sum[:])+"\n")); said["q-signature"] != want {
		return fmt.Errorf("the signature isn't right for %q", text)
	}
	return knows(said["q-ak"], r.Header.Get("X-Cos-Security-Token"))
}
