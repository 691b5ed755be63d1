package testservers

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Keys is the key management services of AWS, Google Cloud and Azure, and the transit
// engine of OpenBao, each with one key of theirs. It "encrypts" by turning bytes around.
// The zero value is ready.
type Keys struct {
	mu   sync.Mutex
	log  []string
	made byte
	fail bool
	with map[string]string // what each sealed key was authenticated with
}

// Names of the keys.
const (
	AmazonKMS = "arn:aws:kms:us-east-1:123456789012:key/mine"
	GoogleKMS = "projects/p/locations/global/keyRings/r/cryptoKeys/mine"
	OtherKey  = "mine" // of the others
)

// BaoToken is taken by the transit engine.
const BaoToken = "bao-token"

// Fail has it reject everything from now on.
func (s *Keys) Fail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = true
}

// Log is what it was asked for, in a word each.
func (s *Keys) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

const turned = "turned:"

func turn(plain []byte) []byte {
	sealed := slices.Clone(plain)
	slices.Reverse(sealed)
	return append([]byte(turned), sealed...)
}

// bind seals a key, which only those open who repeat the extra data.
func (s *Keys) bind(plain []byte, extra string) []byte {
	sealed := turn(plain)
	if s.with == nil {
		s.with = map[string]string{}
	}
	s.with[string(sealed)] = extra
	return sealed
}

// open is back for those who repeat the extra data.
func (s *Keys) open(sealed []byte, extra string) ([]byte, bool) {
	plain, ok := s.back(sealed)
	return plain, ok && s.with[string(sealed)] == extra
}

func (s *Keys) back(sealed []byte) ([]byte, bool) {
	plain, ok := bytes.CutPrefix(slices.Clone(sealed), []byte(turned))
	slices.Reverse(plain)
	return plain, ok
}

// fresh is a new key.
func (s *Keys) fresh(size int) []byte {
	s.made++
	return bytes.Repeat([]byte{s.made, 0xa5}, size/2)
}

// ServeHTTP implements http.Handler.
func (s *Keys) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := bodyOf(r)
	var in struct {
		KeyId, KeySpec            string
		CiphertextBlob, Plaintext []byte
		Ciphertext                string
		Bits                      int
		Alg, Value                string
		EncryptionContext         map[string]string
		Associated                string `json:"associated_data"`
		Additional                string `json:"additionalAuthenticatedData"`
	}
	_ = json.Unmarshal(body, &in)
	note := func(what string) bool { s.log = append(s.log, what); return !s.fail }
	answer := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	target := r.Header.Get("X-Amz-Target")
	switch path := r.URL.Path; {
	case r.Host == "login.microsoftonline.com":
		(&Azure{}).login(w, r)
	case target != "":
		about := fmt.Sprint(in.EncryptionContext)
		sealed, known := s.open(in.CiphertextBlob, about)
		switch verb := strings.TrimPrefix(target, "TrentService."); {
		case !note("aws "+verb) || in.KeyId != AmazonKMS || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256"):
			answer(http.StatusBadRequest, map[string]string{"__type": "NotFoundException", "message": "there is no such key"})
		case verb == "GenerateDataKey":
			key := s.fresh(map[string]int{"AES_256": 32, "AES_128": 16}[in.KeySpec])
			answer(http.StatusOK, map[string]any{"KeyId": AmazonKMS, "Plaintext": key, "CiphertextBlob": s.bind(key, about)})
		case verb == "Decrypt" && known:
			answer(http.StatusOK, map[string]any{"KeyId": AmazonKMS, "Plaintext": sealed})
		default:
			answer(http.StatusBadRequest, map[string]string{"__type": "InvalidCiphertextException"})
		}
	case strings.HasPrefix(path, "/v1/transit/"):
		sealed, found := strings.CutPrefix(in.Ciphertext, "vault:v1:")
		raw, _ := base64.StdEncoding.DecodeString(sealed)
		plain, known := s.open(raw, in.Associated)
		switch verb := strings.TrimSuffix(strings.TrimPrefix(path, "/v1/transit/"), "/"+OtherKey); {
		case !note("bao "+verb) || r.Header.Get("X-Vault-Token") != BaoToken:
			answer(http.StatusForbidden, map[string]any{"errors": []string{"permission denied"}})
		case verb == "datakey/plaintext":
			key := s.fresh(in.Bits / 8)
			answer(http.StatusOK, map[string]any{"data": map[string]any{"plaintext": key, "ciphertext": "vault:v1:" + base64.StdEncoding.EncodeToString(s.bind(key, in.Associated))}})
		case verb == "decrypt" && found && known:
			answer(http.StatusOK, map[string]any{"data": map[string]any{"plaintext": plain}})
		default:
			answer(http.StatusBadRequest, map[string]any{"errors": []string{"invalid ciphertext"}})
		}
	case strings.HasSuffix(r.Host, ".vault.azure.net"):
		s.azure(w, r, in.Alg, in.Value, note, answer)
	case strings.HasPrefix(path, "/v1/"+GoogleKMS+":"):
		plain, known := s.open([]byte(unbase(in.Ciphertext)), in.Additional)
		switch verb := strings.TrimPrefix(path, "/v1/"+GoogleKMS+":"); {
		case !note("google "+verb) || r.Header.Get("Authorization") != "Bearer token":
			answer(http.StatusForbidden, map[string]any{"error": map[string]any{"message": "Permission denied"}})
		case verb == "encrypt":
			answer(http.StatusOK, map[string]any{"name": GoogleKMS + "/cryptoKeyVersions/1", "ciphertext": s.bind(in.Plaintext, in.Additional)})
		case verb == "decrypt" && known:
			answer(http.StatusOK, map[string]any{"plaintext": plain})
		default:
			answer(http.StatusBadRequest, map[string]any{"error": map[string]any{"message": "Decryption failed"}})
		}
	case strings.HasPrefix(path, "/google.cloud.kms.v1.KeyManagementService/"):
		s.grpc(w, strings.TrimPrefix(path, "/google.cloud.kms.v1.KeyManagementService/"), body, note)
	default:
		answer(http.StatusNotFound, map[string]any{"error": map[string]any{"message": "there is nothing at " + path}})
	}
}

func unbase(text string) string {
	raw, _ := base64.StdEncoding.DecodeString(text)
	return string(raw)
}

// azure asks for a token first, and reports for which audience.
func (s *Keys) azure(w http.ResponseWriter, r *http.Request, alg, value string, note func(string) bool, answer func(int, any)) {
	if r.Header.Get("Authorization") == "" {
		w.Header().Set("WWW-Authenticate", `Bearer authorization="https://login.microsoftonline.com/tenant", resource="https://vault.azure.net"`)
		answer(http.StatusUnauthorized, map[string]any{"error": map[string]string{"code": "Unauthorized"}})
		return
	}
	const version = "0123456789abcdef0123456789abcdef"
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // keys/NAME/VERSION/VERB, perhaps without a version
	verb := path[len(path)-1]
	raw, _ := base64.RawURLEncoding.DecodeString(value)
	var out []byte
	ok := note("azure "+verb+" "+alg) && len(path) > 2 && path[0] == "keys" && path[1] == OtherKey
	switch {
	case ok && verb == "encrypt":
		out = turn(raw)
	case ok && verb == "decrypt" && path[2] == version:
		out, ok = s.back(raw)
	default:
		ok = false
	}
	if !ok {
		answer(http.StatusNotFound, map[string]any{"error": map[string]string{"code": "KeyNotFound", "message": "there is no such key"}})
		return
	}
	told := map[string]string{"kid": "https://" + r.Host + "/keys/" + OtherKey + "/" + version, "value": base64.RawURLEncoding.EncodeToString(out)}
	if strings.HasSuffix(alg, "GCM") {
		told["iv"], told["tag"] = "aXZpdml2", "dGFndGFn"
	}
	answer(http.StatusOK, told)
}

// grpc is what Google's own client asks: one message each way, of fields with bytes.
func (s *Keys) grpc(w http.ResponseWriter, verb string, body []byte, note func(string) bool) {
	fields := map[int][]byte{}
	for rest := body[min(5, len(body)):]; len(rest) > 2; {
		tag := int(rest[0] >> 3)
		size, n := binary.Uvarint(rest[1:])
		if rest[0]&7 != 2 || n <= 0 || uint64(len(rest)-1-n) < size { // a checksum, or nothing that is known here
			break
		}
		fields[tag] = rest[1+n : 1+n+int(size)]
		rest = rest[1+n+int(size):]
	}
	field := func(tag byte, content []byte) []byte {
		return append(binary.AppendUvarint([]byte{tag<<3 | 2}, uint64(len(content))), content...)
	}
	var out []byte
	ok := note("google "+verb) && string(fields[1]) == GoogleKMS
	switch {
	case ok && verb == "Encrypt":
		out = append(field(1, []byte(GoogleKMS)), field(2, turn(fields[2]))...)
	case ok && verb == "Decrypt":
		var plain []byte
		plain, ok = s.back(fields[2])
		out = field(1, plain)
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	w.WriteHeader(http.StatusOK)
	if ok {
		_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(out))), out...))
	}
	w.Header().Set("Grpc-Status", map[bool]string{true: "0", false: "5"}[ok])
	w.Header().Set("Grpc-Message", fmt.Sprint(map[bool]string{true: "", false: "there is no such key"}[ok]))
}
