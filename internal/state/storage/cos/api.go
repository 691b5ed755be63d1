package cos

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/state/storage/objectstore"
)

// api is Tencent's, for tags and roles.
type api struct {
	region, domain string
	scheme         string // "" for https
	http           *http.Client
	patience       time.Duration
	access         *access
}

// A refusal is an answer of the API that means no.
type refusal struct{ code, message, request string }

func (r *refusal) Error() string {
	return fmt.Sprintf("the API answered %s: %s (request %s)", r.code, r.message, r.request)
}

// refused is the code of an answer that an error stands for, "" for none.
func refused(err error) string {
	var r *refusal
	if errors.As(err, &r) {
		return r.code
	}
	return ""
}

// How often a call is made, and the wait before the second time.
const (
	tries     = 5
	firstWait = 200 * time.Millisecond
)

// call asks a service of the API as the keys.
func (a *api) call(ctx context.Context, as objectstore.Keys, service, action string, ask, into any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := a.once(ctx, as, service, action, body, into)
		code := refused(err)
		// Without an answer it isn't known whether a tag was made, and of whom one is that is there.
		once := action == "CreateTag" && code == ""
		final := err == nil || once || code != "" && code != "InternalError" && !strings.HasPrefix(code, "RequestLimitExceeded")
		if final || try == tries || ctx.Err() != nil || stalltimeout.Is(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(firstWait << (try - 1)):
		}
	}
}

func (a *api) once(ctx context.Context, as objectstore.Keys, service, action string, body []byte, into any) error {
	host := service + "." + a.domain
	scheme := a.scheme
	if scheme == "" {
		scheme = "https"
	}
	var pulse stalltimeout.Pulse
	ctx, end := pulse.Watch(ctx, host, a.patience)
	defer end()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://"+host+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	now := time.Now()
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-TC-Action": action, "X-TC-Version": "2018-08-13", "X-TC-Region": a.region,
		"X-TC-Timestamp": strconv.FormatInt(now.Unix(), 10), "X-TC-Language": "en-US", "X-TC-Token": as.Token,
		"Authorization": authorization(as, service, host, body, now.UTC()),
	} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := a.http.Do(request)
	if err != nil {
		return stalltimeout.Because(ctx, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(pulse.Reader(response.Body), 16<<20))
	if err != nil {
		return stalltimeout.Because(ctx, err)
	}
	var told struct{ Response json.RawMessage }
	var failed struct {
		Error     struct{ Code, Message string }
		RequestID string `json:"RequestId"`
	}
	if err := json.Unmarshal(content, &told); err != nil || told.Response == nil {
		return fmt.Errorf("%s answered %s with something that isn't of the API: %.200s", host, response.Status, content)
	}
	if err := json.Unmarshal(told.Response, &failed); err == nil && failed.Error.Code != "" {
		return &refusal{failed.Error.Code, failed.Error.Message, failed.RequestID}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(told.Response, into)
}

// authorization signs a request in the way that is called TC3.
func authorization(as objectstore.Keys, service, host string, body []byte, now time.Time) string {
	sum := func(text []byte) string {
		h := sha256.Sum256(text)
		return hex.EncodeToString(h[:])
	}
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	const signed = "content-type;host"
	canonical := "POST\n/\n\ncontent-type:application/json\nhost:" + host + "\n\n" + signed + "\n" + sum(body)
	date := now.Format(time.DateOnly)
	scope := date + "/" + service + "/tc3_request"
	text := "TC3-HMAC-SHA256\n" + strconv.FormatInt(now.Unix(), 10) + "\n" + scope + "\n" + sum([]byte(canonical))
	key := mac(mac(mac([]byte("TC3"+as.Secret), date), service), "tc3_request")
	return "TC3-HMAC-SHA256 Credential=" + as.ID + "/" + scope + ", SignedHeaders=" + signed + ", Signature=" + hex.EncodeToString(mac(key, text))
}
