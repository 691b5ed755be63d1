package testservers

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"  // #nosec G501 -- what the service wants
	"crypto/sha1" // #nosec G505 -- what the service wants
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// Alibaba is OSS with a bucket, Tablestore with a table named locks, STS and the metadata
// service of ECS, as far as backends ask. A caller that asks as key has the secret "secret",
// and what STS and ECS hand out is checked as well. Make it with NewAlibaba.
type Alibaba struct {
	Bucket

	table   sync.Mutex
	rows    map[string]map[string]string
	down    int // calls of Tablestore that are answered with OTSServerBusy
	assumed []url.Values
}

// NewAlibaba makes one.
func NewAlibaba() *Alibaba {
	s := &Alibaba{rows: map[string]map[string]string{}}
	s.vendor, s.verify = "X-Oss-", verifyOSS
	return s
}

// Busy has Tablestore answer that many calls with OTSServerBusy.
func (s *Alibaba) Busy(n int) {
	s.table.Lock()
	defer s.table.Unlock()
	s.down = n
}

// Row is a row of the table, nil for none.
func (s *Alibaba) Row(id string) map[string]string {
	s.table.Lock()
	defer s.table.Unlock()
	return maps.Clone(s.rows[id])
}

// SetRow replaces a row behind everybody's back.
func (s *Alibaba) SetRow(id string, row map[string]string) {
	s.table.Lock()
	defer s.table.Unlock()
	s.rows[id] = row
}

// Assumed is what STS was asked for.
func (s *Alibaba) Assumed() []url.Values {
	s.table.Lock()
	defer s.table.Unlock()
	return s.assumed
}

// ServeHTTP implements http.Handler.
func (s *Alibaba) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const handed = `"AccessKeyId":"temporary","AccessKeySecret":"secret","SecurityToken":"token","Expiration":"2099-01-01T00:00:00Z"`
	switch {
	case r.Header.Get("X-Ots-Apiversion") != "":
		s.call(w, r)
	case r.URL.Query().Get("Action") == "AssumeRole":
		s.assume(w, r, handed)
	case r.URL.Path == "/latest/api/token":
		fmt.Fprint(w, "metadata-token")
	case strings.HasPrefix(r.URL.Path, "/latest/meta-data/ram/security-credentials/"):
		if r.Header.Get("X-Aliyun-Ecs-Metadata-Token") != "metadata-token" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"Code":"Success",`+handed+`}`)
	default:
		s.Bucket.ServeHTTP(w, r)
	}
}

func (s *Alibaba) assume(w http.ResponseWriter, r *http.Request, handed string) {
	s.table.Lock()
	defer s.table.Unlock()
	query := r.URL.Query()
	got := query.Get("Signature")
	query.Del("Signature")
	text := "GET&%2F&" + url.QueryEscape(strings.ReplaceAll(query.Encode(), "+", "%20"))
	if want := base64.StdEncoding.EncodeToString(macOf(sha1.New, "secret&", text)); got != want {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"Code":"SignatureDoesNotMatch","Message":"the signature isn't right"}`)
		return
	}
	s.assumed = append(s.assumed, query)
	fmt.Fprint(w, `{"Credentials":{`+handed+`}}`)
}

func macOf(kind func() hash.Hash, key, text string) []byte {
	h := hmac.New(kind, []byte(key))
	h.Write([]byte(text))
	return h.Sum(nil)
}

// knows whether who asks has the token for the key.
func knows(id, token string) error {
	switch {
	case id == "key" && token == "", id == "temporary" && token == "token":
		return nil
	}
	return fmt.Errorf("nobody is known as %q with the token %q", id, token)
}

// verifyOSS checks the signatures of both versions.
func verifyOSS(r *http.Request, key string) error {
	header := r.Header.Get("Authorization")
	token := r.Header.Get("X-Oss-Security-Token")
	if rest, found := strings.CutPrefix(header, "OSS "); found {
		id, got, _ := strings.Cut(rest, ":")
		resource := "/states/" + key
		if r.URL.Query().Has("objectMeta") {
			resource += "?objectMeta"
		}
		text := strings.Join([]string{r.Method, r.Header.Get("Content-Md5"), r.Header.Get("Content-Type"), r.Header.Get("Date")}, "\n") + "\n" + ossHeaders(r) + resource
		if want := base64.StdEncoding.EncodeToString(macOf(sha1.New, "secret", text)); got != want {
			return errors.New("the signature of version 1 isn't right")
		}
		return knows(id, token)
	}
	rest, found := strings.CutPrefix(header, "OSS4-HMAC-SHA256 Credential=")
	if !found {
		return errors.New("there is no signature")
	}
	credential, got, _ := strings.Cut(rest, ",Signature=")
	parts := strings.Split(credential, "/") // id, date, region, product and a constant
	if len(parts) != 5 {
		return fmt.Errorf("the scope of the signature is %q", credential)
	}
	headers := ""
	for line := range strings.Lines(ossHeaders(r)) {
		headers += line
	}
	if kind := r.Header.Get("Content-Type"); kind != "" {
		headers = "content-type:" + kind + "\n" + headers
	}
	escaped := (&url.URL{Path: "/states/" + key}).EscapedPath()
	escaped = strings.ReplaceAll(escaped, ":", "%3A")
	canonical := strings.Join([]string{r.Method, escaped, strings.ReplaceAll(r.URL.RawQuery, "+", "%20"), headers, "", r.Header.Get("X-Oss-Content-Sha256")}, "\n")
	sum := sha256.Sum256([]byte(canonical))
	text := "OSS4-HMAC-SHA256\n" + r.Header.Get("X-Oss-Date") + "\n" + strings.Join(parts[1:], "/") + "\n" + hex.EncodeToString(sum[:])
	k := "aliyun_v4secret"
	for _, part := range parts[1:] {
		k = string(macOf(sha256.New, k, part))
	}
	if want := hex.EncodeToString(macOf(sha256.New, k, text)); got != want {
		return fmt.Errorf("the signature of version 4 isn't right for %q", canonical)
	}
	return knows(parts[0], token)
}

// ossHeaders are the own ones of the service, a line each.
func ossHeaders(r *http.Request) string {
	var lines []string
	for name, values := range r.Header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-oss-") {
			lines = append(lines, name+":"+values[0]+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// call answers one of Tablestore.
func (s *Alibaba) call(w http.ResponseWriter, r *http.Request) {
	s.table.Lock()
	defer s.table.Unlock()
	body := bodyOf(r)
	refuse := func(status int, code, message string) {
		w.WriteHeader(status)
		_, _ = w.Write(appendField(appendField(nil, 1, []byte(code)), 2, []byte(message)))
	}
	if err := verifyTable(r, body); err != nil {
		refuse(http.StatusForbidden, "OTSAuthFailed", err.Error())
		return
	}
	if s.down > 0 {
		s.down--
		refuse(http.StatusServiceUnavailable, "OTSServerBusy", "try again")
		return
	}
	message := fields(body)
	if table := string(message[1]); table != "locks" {
		refuse(http.StatusNotFound, "OTSObjectNotExist", "Requested table does not exist.")
		return
	}
	id, texts, err := readRow(message[2])
	if err != nil && r.URL.Path != "/DescribeTable" {
		refuse(http.StatusBadRequest, "OTSParameterInvalid", err.Error())
		return
	}
	row, there := s.rows[id]
	capacity := appendField(nil, 1, appendField(nil, 1, []byte{8, 0, 16, 1}))
	switch r.URL.Path {
	case "/DescribeTable":
		schema := protowire.AppendVarint(append(appendField(nil, 1, []byte("LockID")), 16), 2)
		meta := appendField(appendField(nil, 1, []byte("locks")), 2, schema)
		throughput := append(appendField(nil, 1, []byte{8, 0, 16, 0}), 16, 0)
		options := protowire.AppendVarint([]byte{8}, math.MaxUint64) // lasts for ever, -1
		options = append(options, 16, 1, 40, 0)
		_, _ = w.Write(append(appendField(appendField(appendField(nil, 1, meta), 2, throughput), 3, options), 32, 1))
	case "/GetRow":
		encoded := []byte{}
		if there {
			encoded = writeRow(id, row)
		}
		_, _ = w.Write(appendField(capacity, 2, encoded))
	case "/PutRow", "/DeleteRow":
		if !stand(message[3], row, there) {
			refuse(http.StatusForbidden, "OTSConditionCheckFail", "Condition check failed.")
			return
		}
		delete(s.rows, id)
		if r.URL.Path == "/PutRow" {
			s.rows[id] = texts
		}
		_, _ = w.Write(capacity)
	default:
		refuse(http.StatusNotFound, "OTSUnsupportOperation", r.URL.Path)
	}
}

func verifyTable(r *http.Request, body []byte) error {
	sum := md5.Sum(body)
	if r.Header.Get("X-Ots-Contentmd5") != base64.StdEncoding.EncodeToString(sum[:]) {
		return errors.New("the digest of the body isn't right")
	}
	var lines []string
	for name, values := range r.Header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-ots-") && name != "x-ots-signature" {
			lines = append(lines, name+":"+values[0]+"\n")
		}
	}
	slices.Sort(lines)
	text := r.URL.Path + "\nPOST\n\n" + strings.Join(lines, "")
	if r.Header.Get("X-Ots-Signature") != base64.StdEncoding.EncodeToString(macOf(sha1.New, "secret", text)) {
		return errors.New("the signature isn't right")
	}
	return knows(r.Header.Get("X-Ots-Accesskeyid"), r.Header.Get("X-Ots-Ststoken"))
}

// fields are those of a message that are bytes, and numbers as one byte.
func fields(message []byte) map[protowire.Number][]byte {
	found := map[protowire.Number][]byte{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return found
		}
		message = message[n:]
		switch kind {
		case protowire.BytesType:
			found[number], n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(message)
			found[number] = []byte{byte(v)}
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return found
		}
		message = message[n:]
	}
	return found
}

func appendField(to []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), content)
}

// stand reports whether the condition of a call holds for a row.
func stand(condition []byte, row map[string]string, there bool) bool {
	c := fields(condition)
	if len(c[1]) == 1 && (c[1][0] == 1 && !there || c[1][0] == 2 && there) {
		return false
	}
	if c[2] == nil {
		return true
	}
	f := fields(fields(c[2])[2])
	return len(f[3]) >= 5 && row[string(f[2])] == string(f[3][5:])
}

// readRow reads a row in the plain buffer encoding, whose sums have to be right.
func readRow(content []byte) (id string, texts map[string]string, err error) {
	r := bytes.NewReader(content)
	one := func() byte { b, _ := r.ReadByte(); return b }
	text := func() []byte {
		var n uint32
		_ = binary.Read(r, binary.LittleEndian, &n)
		b := make([]byte, min(int(n), r.Len()))
		_, _ = r.Read(b)
		return b
	}
	var header uint32
	if _ = binary.Read(r, binary.LittleEndian, &header); header != 0x75 {
		return "", nil, errors.New("it isn't a row")
	}
	texts = map[string]string{}
	all, gone := byte(0), byte(0)
	for r.Len() > 0 {
		switch one() {
		case 1, 2: // the key, the data
		case 3:
			if one() != 4 {
				return "", nil, errors.New("a cell has no name")
			}
			name := text()
			if one() != 5 {
				return "", nil, errors.New("a cell has no value")
			}
			value := text()
			if one() != 10 {
				return "", nil, errors.New("a cell has no sum")
			}
			sum := crc8(crc8(0, name), value)
			if one() != sum {
				return "", nil, errors.New("the sum of a cell isn't right")
			}
			all = crc8(all, []byte{sum})
			if len(value) < 5 || value[0] != 3 {
				return "", nil, errors.New("a cell isn't a text")
			}
			if string(name) == "LockID" {
				id = string(value[5:])
			}
			texts[string(name)] = string(value[5:])
		case 8:
			gone = 1
		case 9:
			if one() != crc8(all, []byte{gone}) {
				return "", nil, errors.New("the sum of the row isn't right")
			}
			return id, texts, nil
		default:
			return "", nil, errors.New("there is an unknown tag")
		}
	}
	return "", nil, errors.New("the row has no end")
}

func crc8(crc byte, content []byte) byte {
	for _, c := range content {
		crc ^= c
		for range 8 {
			carry := crc >> 7
			crc = crc<<1 ^ carry*7
		}
	}
	return crc
}

// writeRow is readRow the other way round, with times as the service adds them.
func writeRow(id string, texts map[string]string) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 0x75)
	all := byte(0)
	put := func(name, text string, at uint64) {
		value := append(binary.LittleEndian.AppendUint32([]byte{3}, uint32(len(text))), text...)
		out = append(binary.LittleEndian.AppendUint32(append(out, 3, 4), uint32(len(name))), name...)
		out = append(binary.LittleEndian.AppendUint32(append(out, 5), uint32(len(value))), value...)
		sum := crc8(crc8(0, []byte(name)), value)
		if at > 0 {
			stamp := binary.LittleEndian.AppendUint64(nil, at)
			out = append(append(out, 7), stamp...)
			sum = crc8(sum, stamp)
		}
		out = append(out, 10, sum)
		all = crc8(all, []byte{sum})
	}
	out = append(out, 1)
	put("LockID", id, 0)
	out = append(out, 2)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if name != "LockID" {
			put(name, texts[name], 1700000000000)
		}
	}
	return append(out, 9, crc8(all, []byte{0}))
}
