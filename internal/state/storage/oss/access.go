package oss

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- what the service wants
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/objectstore"
	"weir.dev/weir/internal/state/storage/rest"
)

// A role is one to assume.
type role struct {
	arn, session, policy string
	seconds              int
}

// access is who asks.
type access struct {
	keys     objectstore.Keys
	instance string // the role of the ECS instance, where there are no keys
	role     *role  // nil for none
	region   string
	sts      *url.URL
	metadata url.URL
	http     *http.Client
	patience time.Duration
	ring     objectstore.Ring
}

// A profile is one of the shared credentials file.
type profile struct {
	Name, Mode      string
	AccessKeyID     string `json:"access_key_id"`
	AccessKeySecret string `json:"access_key_secret"`
	Token           string `json:"sts_token"`
	Region          string `json:"region_id"`
	InstanceRole    string `json:"ram_role_name"`
	Role            string `json:"ram_role_arn"`
	Session         string `json:"ram_session_name"`
	Seconds         int    `json:"expired_seconds"`
}

func readAccess(r *backendconfig.Reader, client *http.Client, patience time.Duration) *access {
	p, problem := readProfile(r)
	or := func(text, without string) string {
		if text == "" {
			return without
		}
		return text
	}
	a := &access{http: client, patience: patience, metadata: url.URL{Scheme: "http", Host: "100.100.100.200"}}
	a.keys = objectstore.Keys{
		ID:     or(r.Text("access_key", "ALICLOUD_ACCESS_KEY", "ALICLOUD_ACCESS_KEY_ID"), p.AccessKeyID),
		Secret: or(r.Text("secret_key", "ALICLOUD_SECRET_KEY", "ALICLOUD_ACCESS_KEY_SECRET"), p.AccessKeySecret),
		Token:  or(r.Text("security_token", "ALICLOUD_SECURITY_TOKEN"), p.Token),
	}
	a.instance = or(r.Text("ecs_role_name", "ALICLOUD_ECS_ROLE_NAME"), p.InstanceRole)
	a.region = or(r.Text("region", "ALICLOUD_REGION", "ALICLOUD_DEFAULT_REGION"), p.Region)
	if a.keys.ID == "" && a.instance == "" && problem != nil {
		r.Problem("profile", "Invalid backend configuration", "The profile can't be used: %s.", problem)
	}
	a.role = readRole(r, p)
	if a.sts = address(r, "sts_endpoint", "ALICLOUD_STS_ENDPOINT"); a.sts == nil {
		a.sts = &url.URL{Scheme: "https", Host: "sts.aliyuncs.com"}
		if a.region != "" {
			a.sts.Host = "sts." + a.region + ".aliyuncs.com"
		}
	}
	return a
}

// readProfile reads what the profile says by its mode. A problem counts only where nothing
// else says who asks.
func readProfile(r *backendconfig.Reader) (p profile, problem error) {
	name := r.Text("profile", "ALICLOUD_PROFILE")
	if name == "" {
		return p, nil
	}
	file := r.TextOr("~/.aliyun/config.json", "shared_credentials_file", "ALICLOUD_SHARED_CREDENTIALS_FILE")
	if rest, found := strings.CutPrefix(file, "~/"); found {
		home := r.Getenv("HOME")
		if home == "" {
			home = r.Getenv("USERPROFILE")
		}
		file = filepath.Join(home, rest)
	} else if !filepath.IsAbs(file) {
		file = filepath.Join(r.Env.Dir, file)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	var all struct{ Profiles []profile }
	if err := json.Unmarshal(content, &all); err != nil {
		return p, fmt.Errorf("%s can't be read: %w", file, err)
	}
	for _, found := range all.Profiles {
		if found.Name == name {
			return found.byMode()
		}
	}
	return p, fmt.Errorf("there is no profile %q in %s", name, file)
}

// byMode leaves out what doesn't count in the mode.
func (p profile) byMode() (profile, error) {
	kept := profile{Region: p.Region}
	switch p.Mode {
	case "", "AK", "StsToken", "RamRoleArn":
		kept.AccessKeyID, kept.AccessKeySecret = p.AccessKeyID, p.AccessKeySecret
		switch p.Mode {
		case "StsToken":
			kept.Token = p.Token
		case "RamRoleArn":
			kept.Role, kept.Session, kept.Seconds = p.Role, p.Session, p.Seconds
		}
	case "EcsRamRole":
		kept.InstanceRole = p.InstanceRole
	default:
		return kept, fmt.Errorf("it has the mode %q, and there are AK, StsToken, RamRoleArn and EcsRamRole", p.Mode)
	}
	return kept, nil
}

func readRole(r *backendconfig.Reader, p profile) *role {
	as := &role{arn: p.Role, session: p.Session, seconds: p.Seconds}
	at := func(of *backendconfig.Reader, before string, variables bool) bool {
		arn, session := []string{}, []string{}
		if variables {
			arn, session = []string{"ALICLOUD_ASSUME_ROLE_ARN"}, []string{"ALICLOUD_ASSUME_ROLE_SESSION_NAME"}
		}
		found := of.Text(before+"role_arn", arn...)
		if found == "" {
			return false
		}
		*as = role{arn: found, session: of.Text(before+"session_name", session...), policy: of.Text(before + "policy")}
		name := before + "session_expiration"
		as.seconds = of.Int(name, 0)
		if of.Set(name) && (as.seconds < 900 || as.seconds > 3600) {
			of.Problem(name, "Invalid backend configuration", "expected %s to be in the range (900 - 3600), got %d", name, as.seconds)
		}
		return true
	}
	if !at(r, "assume_role_", true) {
		if block := r.Block("assume_role"); block != nil {
			at(block, "", true)
			r.Took(block)
		}
	}
	if as.arn == "" {
		return nil
	}
	if as.session == "" {
		as.session = "weir"
	}
	if as.seconds == 0 {
		as.seconds, _ = strconv.Atoi(r.Getenv("ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION"))
	}
	if as.seconds == 0 {
		as.seconds = 3600
	}
	return as
}

// get is the credentials for a request.
func (a *access) get(ctx context.Context) (objectstore.Keys, error) {
	return a.ring.Get(func() (objectstore.Keys, error) { return a.find(ctx) })
}

func (a *access) find(ctx context.Context) (objectstore.Keys, error) {
	k := a.keys
	var err error
	if k.ID == "" && a.instance != "" {
		if k, err = a.fromInstance(ctx); err != nil {
			return objectstore.Keys{}, fmt.Errorf("the RAM role %q of this ECS instance gave no credentials: %w", a.instance, err)
		}
	}
	if k.ID == "" || k.Secret == "" {
		return objectstore.Keys{}, errors.New("no credentials were found: set access_key and secret_key, or ALICLOUD_ACCESS_KEY and ALICLOUD_SECRET_KEY, or profile, or ecs_role_name")
	}
	if a.role != nil {
		if k, err = a.assume(ctx, k); err != nil {
			return objectstore.Keys{}, fmt.Errorf("the RAM role %q can't be assumed: %w", a.role.arn, err)
		}
	}
	return k, nil
}

// given is how services hand out credentials.
type given struct {
	AccessKeyID     string `json:"AccessKeyId"`
	AccessKeySecret string
	SecurityToken   string
	Expiration      time.Time
}

func (g given) keys() objectstore.Keys {
	return objectstore.Keys{ID: g.AccessKeyID, Secret: g.AccessKeySecret, Token: g.SecurityToken, Until: g.Expiration}
}

// fromInstance asks the metadata service of ECS, with a token where it wants one.
func (a *access) fromInstance(ctx context.Context) (objectstore.Keys, error) {
	client := &rest.Client{HTTP: a.http, Base: a.metadata, Patience: a.patience}
	header := http.Header{}
	_, token, err := client.Do(ctx, rest.Request{Method: http.MethodPut, Path: "/latest/api/token", Header: http.Header{"X-Aliyun-Ecs-Metadata-Token-Ttl-Seconds": {"21600"}}})
	if err == nil && len(token) > 0 {
		header.Set("X-Aliyun-Ecs-Metadata-Token", string(token))
	}
	var said struct {
		given
		Code string
	}
	err = client.Into(ctx, rest.Request{Method: http.MethodGet, Path: "/latest/meta-data/ram/security-credentials/" + a.instance, Header: header}, &said)
	if err == nil && said.Code != "Success" {
		err = fmt.Errorf("the metadata service says %q", said.Code)
	}
	return said.keys(), err
}

// assume asks STS for credentials of the role.
func (a *access) assume(ctx context.Context, as objectstore.Keys) (objectstore.Keys, error) {
	query := url.Values{
		"Action": {"AssumeRole"}, "Version": {"2015-04-01"}, "Format": {"JSON"},
		"RoleArn": {a.role.arn}, "RoleSessionName": {a.role.session}, "DurationSeconds": {strconv.Itoa(a.role.seconds)},
		"AccessKeyId": {as.ID}, "SignatureMethod": {"HMAC-SHA1"}, "SignatureVersion": {"1.0"},
		"SignatureNonce": {uuid.NewString()}, "Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")},
	}
	if a.role.policy != "" {
		query.Set("Policy", a.role.policy)
	}
	if as.Token != "" {
		query.Set("SecurityToken", as.Token)
	}
	canonical := strings.ReplaceAll(query.Encode(), "+", "%20")
	sum := hmac.New(sha1.New, []byte(as.Secret+"&"))
	sum.Write([]byte("GET&%2F&" + url.QueryEscape(canonical)))
	query.Set("Signature", base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	client := &rest.Client{HTTP: a.http, Base: *a.sts, Patience: a.patience, Say: func(body []byte) string {
		var told struct{ Code, Message string }
		_ = json.Unmarshal(body, &told) // those of proxies aren't JSON
		return strings.TrimSpace(told.Code + " " + told.Message)
	}}
	var said struct{ Credentials given }
	err := client.Into(ctx, rest.Request{Method: http.MethodGet, Path: "/", Query: query}, &said)
	if err == nil && said.Credentials.AccessKeyID == "" {
		err = errors.New("STS answered without credentials")
	}
	return said.Credentials.keys(), err
}
