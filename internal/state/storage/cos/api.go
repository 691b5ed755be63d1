package cos

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir.dev/weir/internal/net/httpcall"
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

// call asks a service of the API as the keys.
func (a *api) call(ctx context.Context, as objectstore.Keys, service, action string, ask, into any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	to := &url.URL{Scheme: a.scheme, Host: service + "." + a.domain, Path: "/"}
	if to.Scheme == "" {
		to.Scheme = "https"
	}
	c := httpcall.Client{
		HTTP: a.http, Stall: a.patience, Limit: 16 << 20,
		Sign: func(_ context.Context, r *http.Request) error {
			now := time.Now()
			for name, value := range map[string]string{
				"Content-Type": "application/json", "X-TC-Action": action, "X-TC-Version": "2018-08-13", "X-TC-Region": a.region,
				"X-TC-Timestamp": strconv.FormatInt(now.Unix(), 10), "X-TC-Language": "en-US", "X-TC-Token": as.Token,
				"Authorization": authorization(as, service, to.Host, body, now.UTC()),
			} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			return nil
		},
		Again: func(_ httpcall.Answer, err error) bool {
			code := refused(err)
			if code == "" {
				// Without an answer it isn't known whether the tag was made, nor whose a tag is.
				return action != "CreateTag"
			}
			return code == "InternalError" || strings.HasPrefix(code, "RequestLimitExceeded")
		},
	}
	_, err = c.Do(ctx, httpcall.Request{Method: http.MethodPost, URL: to, Body: body}, func(answer httpcall.Answer) error {
		var told struct{ Response json.RawMessage }
		var failed struct {
			Error     struct{ Code, Message string }
			RequestID string `json:"RequestId"`
		}
		if err := json.Unmarshal(answer.Body, &told); err != nil || told.Response == nil {
			return fmt.Errorf("%s answered %d %s with something that isn't of the API: %.200s", to.Host, answer.Status, http.StatusText(answer.Status), answer.Body)
		}
		if err := json.Unmarshal(told.Response, &failed); err == nil && failed.Error.Code != "" {
			return &refusal{failed.Error.Code, failed.Error.Message, failed.RequestID}
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(told.Response, into)
	})
	return err
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
