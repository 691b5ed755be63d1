package cloud

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// IAM keeps roles, users, groups, policies and instance profiles.
type iam struct {
	principals map[string]map[string]*principal // by kind, then by name
	policies   map[string]*policy               // by ARN
	profiles   map[string]*profile
}

// A principal is a role, a user or a group: what policies are given to.
type principal struct {
	kind, name, path string
	settings         map[string]string // in the terms of the calls that set them
	inline           map[string]string
	attached         []string // ARNs
	boundary         string
	tags             map[string]string
	members          map[string]bool // of a group
	keys             []string        // of a user
}

type policy struct {
	name, path, description string
	versions                []policyVersion
	last                    int // number of the newest version ever
	standard                int
	tags                    map[string]string
}

type policyVersion struct {
	number   int
	document string
}

type profile struct {
	name, path string
	roles      []string
	tags       map[string]string
}

func newIAM() *iam {
	return &iam{
		principals: map[string]map[string]*principal{"Role": {}, "User": {}, "Group": {}},
		policies:   map[string]*policy{},
		profiles:   map[string]*profile{},
	}
}

func (s *iam) service() service {
	calls := map[string]call{
		"UpdateRole":             s.set("Role", "Description", "MaxSessionDuration"),
		"UpdateRoleDescription":  s.set("Role", "Description"),
		"UpdateAssumeRolePolicy": s.set("Role", "PolicyDocument"),
		"UpdateUser":             s.renameUser,
		"ListGroupsForUser":      s.listGroupsForUser,
		"AddUserToGroup":         s.addUserToGroup,
		"RemoveUserFromGroup":    s.removeUserFromGroup,
		"CreateAccessKey":        s.createAccessKey,
		"ListAccessKeys":         s.listAccessKeys,
		"DeleteAccessKey":        s.deleteAccessKey,
		"ListAccountAliases":     fixed(el("AccountAliases") + el("IsTruncated", false)),

		"CreatePolicy":          s.createPolicy,
		"GetPolicy":             s.getPolicy,
		"DeletePolicy":          s.deletePolicy,
		"ListPolicies":          s.listPolicies,
		"CreatePolicyVersion":   s.createPolicyVersion,
		"GetPolicyVersion":      s.getPolicyVersion,
		"DeletePolicyVersion":   s.deletePolicyVersion,
		"ListPolicyVersions":    s.listPolicyVersions,
		"ListEntitiesForPolicy": s.listEntitiesForPolicy,
		"TagPolicy":             s.tagPolicy,
		"UntagPolicy":           s.untagPolicy,

		"CreateInstanceProfile":         s.createProfile,
		"GetInstanceProfile":            s.getProfile,
		"DeleteInstanceProfile":         s.deleteProfile,
		"AddRoleToInstanceProfile":      s.addRoleToProfile,
		"RemoveRoleFromInstanceProfile": s.removeRoleFromProfile,
		"ListInstanceProfilesForRole":   s.listProfilesForRole,
		"TagInstanceProfile":            s.tagProfile,
		"UntagInstanceProfile":          s.untagProfile,
	}
	for _, none := range []string{
		"ListMFADevices", "ListVirtualMFADevices", "ListSSHPublicKeys", "ListServiceSpecificCredentials", "ListSigningCertificates",
	} {
		calls[none] = fixed(el("IsTruncated", false))
	}
	calls["DeleteLoginProfile"] = func(*request) (any, error) { return nil, missing("NoSuchEntity", "the login profile") }
	calls["GetLoginProfile"] = calls["DeleteLoginProfile"]
	for kind := range s.principals {
		maps.Copy(calls, s.principalCalls(kind))
	}
	return service{dialect: queryXML, calls: calls}
}

// principalCalls are the calls that roles, users and groups have alike.
func (s *iam) principalCalls(kind string) map[string]call {
	on := func(do func(r *request, p *principal) (any, error)) call {
		return func(r *request) (any, error) {
			p, err := s.principal(kind, r)
			if err != nil {
				return nil, err
			}
			return do(r, p)
		}
	}
	return map[string]call{
		"Create" + kind: func(r *request) (any, error) { return s.create(kind, r) },
		"Get" + kind: on(func(r *request, p *principal) (any, error) {
			return el(kind, p.describe()) + s.users(p), nil
		}),
		"List" + kind + "s": func(r *request) (any, error) {
			all := s.principals[kind]
			return list(kind+"s", "member", sorted(all), func(n string) node { return all[n].describe() }) + el("IsTruncated", false), nil
		},
		"Delete" + kind: on(func(r *request, p *principal) (any, error) {
			if len(p.inline)+len(p.attached)+len(p.members)+len(p.keys) > 0 || kind == "Role" && len(s.profilesOf(p.name)) > 0 {
				return nil, &fault{status: http.StatusConflict, code: "DeleteConflict", message: p.name + " is in use"}
			}
			delete(s.principals[kind], p.name)
			return nil, nil
		}),
		"Put" + kind + "Policy": on(func(r *request, p *principal) (any, error) {
			p.inline[r.text("PolicyName")] = r.text("PolicyDocument")
			return nil, nil
		}),
		"Get" + kind + "Policy": on(func(r *request, p *principal) (any, error) {
			name := r.text("PolicyName")
			document, ok := p.inline[name]
			if !ok {
				return nil, missing("NoSuchEntity", name)
			}
			return texts(kind+"Name", p.name, "PolicyName", name, "PolicyDocument", encoded(document)), nil
		}),
		"Delete" + kind + "Policy": on(func(r *request, p *principal) (any, error) {
			if _, ok := p.inline[r.text("PolicyName")]; !ok {
				return nil, missing("NoSuchEntity", r.text("PolicyName"))
			}
			delete(p.inline, r.text("PolicyName"))
			return nil, nil
		}),
		"List" + kind + "Policies": on(func(r *request, p *principal) (any, error) {
			return list("PolicyNames", "member", sorted(p.inline), func(n string) node { return node(escape.Replace(n)) }) + el("IsTruncated", false), nil
		}),
		"Attach" + kind + "Policy": on(func(r *request, p *principal) (any, error) {
			if _, err := s.policy(r); err != nil {
				return nil, err
			}
			if !slices.Contains(p.attached, r.text("PolicyArn")) {
				p.attached = append(p.attached, r.text("PolicyArn"))
			}
			return nil, nil
		}),
		"Detach" + kind + "Policy": on(func(r *request, p *principal) (any, error) {
			at := slices.Index(p.attached, r.text("PolicyArn"))
			if at < 0 {
				return nil, missing("NoSuchEntity", r.text("PolicyArn"))
			}
			p.attached = slices.Delete(p.attached, at, at+1)
			return nil, nil
		}),
		"ListAttached" + kind + "Policies": on(func(r *request, p *principal) (any, error) {
			return list("AttachedPolicies", "member", slices.Sorted(slices.Values(p.attached)), func(arn string) node {
				return texts("PolicyName", arn[strings.LastIndex(arn, "/")+1:], "PolicyArn", arn)
			}) + el("IsTruncated", false), nil
		}),
		"Put" + kind + "PermissionsBoundary": on(func(r *request, p *principal) (any, error) {
			p.boundary = r.text("PermissionsBoundary")
			return nil, nil
		}),
		"Delete" + kind + "PermissionsBoundary": on(func(r *request, p *principal) (any, error) {
			p.boundary = ""
			return nil, nil
		}),
		"Tag" + kind: on(func(r *request, p *principal) (any, error) {
			maps.Copy(p.tags, r.tags())
			return nil, nil
		}),
		"Untag" + kind: on(func(r *request, p *principal) (any, error) {
			untagKeys(p.tags, r)
			return nil, nil
		}),
		"List" + kind + "Tags": on(func(r *request, p *principal) (any, error) {
			return tagMembers(p.tags) + el("IsTruncated", false), nil
		}),
	}
}

// principal finds whom a request is about. A user that nobody made and who isn't
// named is the caller.
func (s *iam) principal(kind string, r *request) (*principal, error) {
	name := r.text(kind + "Name")
	if kind == "User" && name == "" {
		return &principal{kind: kind, name: "tester", path: "/"}, nil
	}
	if p := s.principals[kind][name]; p != nil {
		return p, nil
	}
	return nil, missing("NoSuchEntity", "the "+strings.ToLower(kind)+" "+name)
}

func (s *iam) create(kind string, r *request) (any, error) {
	name := r.text(kind + "Name")
	if s.principals[kind][name] != nil {
		return nil, exists(name)
	}
	p := &principal{
		kind: kind, name: name, path: pathOf(r),
		settings: map[string]string{"Description": r.text("Description"), "MaxSessionDuration": "3600", "PolicyDocument": r.text("AssumeRolePolicyDocument")},
		inline:   map[string]string{}, tags: r.tags(), members: map[string]bool{},
		boundary: r.text("PermissionsBoundary"),
	}
	if d := r.text("MaxSessionDuration"); d != "" {
		p.settings["MaxSessionDuration"] = d
	}
	s.principals[kind][name] = p
	return el(kind, p.describe()), nil
}

// set makes a call that sets some settings of a principal.
func (s *iam) set(kind string, names ...string) call {
	return func(r *request) (any, error) {
		p, err := s.principal(kind, r)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if r.has(name) {
				p.settings[name] = r.text(name)
			}
		}
		if r.call == "UpdateRoleDescription" {
			return el(kind, p.describe()), nil
		}
		return nil, nil
	}
}

func (p *principal) describe() node {
	prefix := map[string]string{"Role": "AROA", "User": "AIDA", "Group": "AGPA"}[p.kind]
	out := texts("Path", p.path, p.kind+"Name", p.name, p.kind+"Id", prefix+token(17, p.kind, p.name),
		"Arn", arn("iam", "", strings.ToLower(p.kind)+p.path+p.name), "CreateDate", instant)
	if p.kind == "Role" {
		out += texts("AssumeRolePolicyDocument", encoded(p.settings["PolicyDocument"]), "MaxSessionDuration", p.settings["MaxSessionDuration"])
		if d := p.settings["Description"]; d != "" {
			out += texts("Description", d)
		}
	}
	if p.boundary != "" {
		out += el("PermissionsBoundary", texts("PermissionsBoundaryType", "Policy", "PermissionsBoundaryArn", p.boundary))
	}
	if len(p.tags) > 0 {
		out += tagMembers(p.tags)
	}
	return out
}

// users are the members of a group, as a group's description has them.
func (s *iam) users(p *principal) node {
	if p.kind != "Group" {
		return ""
	}
	return list("Users", "member", sorted(p.members), func(n string) node { return s.principals["User"][n].describe() }) + el("IsTruncated", false)
}

func (s *iam) renameUser(r *request) (any, error) {
	p, err := s.principal("User", r)
	if err != nil {
		return nil, err
	}
	if path := r.text("NewPath"); path != "" {
		p.path = path
	}
	if name := r.text("NewUserName"); name != "" && name != p.name {
		delete(s.principals["User"], p.name)
		for _, g := range s.principals["Group"] {
			if g.members[p.name] {
				delete(g.members, p.name)
				g.members[name] = true
			}
		}
		p.name = name
		s.principals["User"][name] = p
	}
	return nil, nil
}

func (s *iam) listGroupsForUser(r *request) (any, error) {
	p, err := s.principal("User", r)
	if err != nil {
		return nil, err
	}
	var in []*principal
	for _, name := range sorted(s.principals["Group"]) {
		if g := s.principals["Group"][name]; g.members[p.name] {
			in = append(in, g)
		}
	}
	return list("Groups", "member", in, (*principal).describe) + el("IsTruncated", false), nil
}

func (s *iam) addUserToGroup(r *request) (any, error) {
	u, err := s.principal("User", r)
	if err != nil {
		return nil, err
	}
	g, err := s.principal("Group", r)
	if err != nil {
		return nil, err
	}
	g.members[u.name] = true
	return nil, nil
}

func (s *iam) removeUserFromGroup(r *request) (any, error) {
	g, err := s.principal("Group", r)
	if err != nil {
		return nil, err
	}
	delete(g.members, r.text("UserName"))
	return nil, nil
}

func (s *iam) createAccessKey(r *request) (any, error) {
	p, err := s.principal("User", r)
	if err != nil {
		return nil, err
	}
	key := "AKIA" + token(16, "key", p.name, strconv.Itoa(len(p.keys)))
	p.keys = append(p.keys, key)
	return el("AccessKey", texts("UserName", p.name, "AccessKeyId", key, "Status", "Active", "SecretAccessKey", "secret-of-"+key, "CreateDate", instant)), nil
}

func (s *iam) listAccessKeys(r *request) (any, error) {
	p, err := s.principal("User", r)
	if err != nil {
		return nil, err
	}
	return list("AccessKeyMetadata", "member", p.keys, func(k string) node {
		return texts("UserName", p.name, "AccessKeyId", k, "Status", "Active", "CreateDate", instant)
	}) + el("IsTruncated", false), nil
}

func (s *iam) deleteAccessKey(r *request) (any, error) {
	p, err := s.principal("User", r)
	if err != nil {
		return nil, err
	}
	p.keys = slices.DeleteFunc(p.keys, func(k string) bool { return k == r.text("AccessKeyId") })
	return nil, nil
}

// AWS's own policies are all there, and allow everything.
const everything = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`

func (s *iam) policy(r *request) (*policy, error) {
	arn := r.text("PolicyArn")
	if p := s.policies[arn]; p != nil {
		return p, nil
	}
	if rest, ok := strings.CutPrefix(arn, "arn:aws:iam::aws:policy/"); ok {
		return &policy{name: rest[strings.LastIndex(rest, "/")+1:], path: "/", versions: []policyVersion{{1, everything}}, standard: 1}, nil
	}
	return nil, missing("NoSuchEntity", "the policy "+arn)
}

func (s *iam) describePolicy(arn string, p *policy) node {
	attached := 0
	for _, kind := range s.principals {
		for _, who := range kind {
			if slices.Contains(who.attached, arn) {
				attached++
			}
		}
	}
	out := texts("PolicyName", p.name, "PolicyId", "ANPA"+token(17, arn), "Arn", arn, "Path", p.path,
		"DefaultVersionId", versionName(p.standard), "IsAttachable", "true", "CreateDate", instant, "UpdateDate", instant) +
		el("AttachmentCount", attached)
	if p.description != "" {
		out += texts("Description", p.description)
	}
	if len(p.tags) > 0 {
		out += tagMembers(p.tags)
	}
	return out
}

func (s *iam) createPolicy(r *request) (any, error) {
	p := &policy{
		name: r.text("PolicyName"), path: pathOf(r), description: r.text("Description"), tags: r.tags(),
		versions: []policyVersion{{1, r.text("PolicyDocument")}}, last: 1, standard: 1,
	}
	name := arn("iam", "", "policy"+p.path+p.name)
	if s.policies[name] != nil {
		return nil, exists(p.name)
	}
	s.policies[name] = p
	return el("Policy", s.describePolicy(name, p)), nil
}

func (s *iam) getPolicy(r *request) (any, error) {
	p, err := s.policy(r)
	if err != nil {
		return nil, err
	}
	return el("Policy", s.describePolicy(r.text("PolicyArn"), p)), nil
}

func (s *iam) deletePolicy(r *request) (any, error) {
	name := r.text("PolicyArn")
	p, ok := s.policies[name]
	if !ok {
		return nil, missing("NoSuchEntity", name)
	}
	for _, kind := range s.principals {
		for _, who := range kind {
			if slices.Contains(who.attached, name) {
				return nil, &fault{status: http.StatusConflict, code: "DeleteConflict", message: p.name + " is attached to " + who.name}
			}
		}
	}
	delete(s.policies, name)
	return nil, nil
}

func (s *iam) listPolicies(r *request) (any, error) {
	return list("Policies", "member", sorted(s.policies), func(arn string) node { return s.describePolicy(arn, s.policies[arn]) }) + el("IsTruncated", false), nil
}

func (s *iam) createPolicyVersion(r *request) (any, error) {
	p, err := s.policy(r)
	if err != nil {
		return nil, err
	}
	if len(p.versions) >= 5 {
		return nil, &fault{status: http.StatusConflict, code: "LimitExceeded", message: "a policy has five versions at most"}
	}
	p.last++
	p.versions = append(p.versions, policyVersion{p.last, r.text("PolicyDocument")})
	if r.text("SetAsDefault") == "true" {
		p.standard = p.last
	}
	return el("PolicyVersion", texts("VersionId", versionName(p.last), "CreateDate", instant)), nil
}

func (s *iam) getPolicyVersion(r *request) (any, error) {
	p, err := s.policy(r)
	if err != nil {
		return nil, err
	}
	for _, v := range p.versions {
		if versionName(v.number) == r.text("VersionId") {
			return el("PolicyVersion", el("Document", encoded(v.document)), p.describeVersion(v)), nil
		}
	}
	return nil, missing("NoSuchEntity", r.text("VersionId"))
}

func (p *policy) describeVersion(v policyVersion) node {
	return el("VersionId", versionName(v.number)) + el("IsDefaultVersion", v.number == p.standard) + el("CreateDate", instant)
}

func (s *iam) deletePolicyVersion(r *request) (any, error) {
	p, err := s.policy(r)
	if err != nil {
		return nil, err
	}
	p.versions = slices.DeleteFunc(p.versions, func(v policyVersion) bool { return versionName(v.number) == r.text("VersionId") })
	return nil, nil
}

func (s *iam) listPolicyVersions(r *request) (any, error) {
	p, err := s.policy(r)
	if err != nil {
		return nil, err
	}
	return list("Versions", "member", p.versions, p.describeVersion) + el("IsTruncated", false), nil
}

func (s *iam) listEntitiesForPolicy(r *request) (any, error) {
	var out node
	for _, kind := range sorted(s.principals) {
		var who []string
		for _, name := range sorted(s.principals[kind]) {
			if slices.Contains(s.principals[kind][name].attached, r.text("PolicyArn")) {
				who = append(who, name)
			}
		}
		out += list("Policy"+kind+"s", "member", who, func(n string) node { return texts(kind+"Name", n) })
	}
	return out + el("IsTruncated", false), nil
}

func (s *iam) tagPolicy(r *request) (any, error) {
	p, err := s.policy(r)
	if err != nil {
		return nil, err
	}
	maps.Copy(p.tags, r.tags())
	return nil, nil
}

func (s *iam) untagPolicy(r *request) (any, error) {
	p, err := s.policy(r)
	if err != nil {
		return nil, err
	}
	untagKeys(p.tags, r)
	return nil, nil
}

func (s *iam) profile(r *request) (*profile, error) {
	if p := s.profiles[r.text("InstanceProfileName")]; p != nil {
		return p, nil
	}
	return nil, missing("NoSuchEntity", "the instance profile "+r.text("InstanceProfileName"))
}

func (s *iam) describeProfile(p *profile) node {
	return texts("InstanceProfileName", p.name, "InstanceProfileId", "AIPA"+token(17, "profile", p.name), "Path", p.path,
		"Arn", arn("iam", "", "instance-profile"+p.path+p.name), "CreateDate", instant) +
		list("Roles", "member", p.roles, func(n string) node { return s.principals["Role"][n].describe() }) + tagMembers(p.tags)
}

func (s *iam) createProfile(r *request) (any, error) {
	p := &profile{name: r.text("InstanceProfileName"), path: pathOf(r), tags: r.tags()}
	if s.profiles[p.name] != nil {
		return nil, exists(p.name)
	}
	s.profiles[p.name] = p
	return el("InstanceProfile", s.describeProfile(p)), nil
}

func (s *iam) getProfile(r *request) (any, error) {
	p, err := s.profile(r)
	if err != nil {
		return nil, err
	}
	return el("InstanceProfile", s.describeProfile(p)), nil
}

func (s *iam) deleteProfile(r *request) (any, error) {
	p, err := s.profile(r)
	if err != nil {
		return nil, err
	}
	if len(p.roles) > 0 {
		return nil, &fault{status: http.StatusConflict, code: "DeleteConflict", message: p.name + " has a role"}
	}
	delete(s.profiles, p.name)
	return nil, nil
}

func (s *iam) addRoleToProfile(r *request) (any, error) {
	p, err := s.profile(r)
	if err != nil {
		return nil, err
	}
	role, err := s.principal("Role", r)
	if err != nil {
		return nil, err
	}
	if len(p.roles) > 0 {
		return nil, &fault{status: http.StatusConflict, code: "LimitExceeded", message: p.name + " has a role already"}
	}
	p.roles = []string{role.name}
	return nil, nil
}

func (s *iam) removeRoleFromProfile(r *request) (any, error) {
	p, err := s.profile(r)
	if err != nil {
		return nil, err
	}
	p.roles = slices.DeleteFunc(p.roles, func(n string) bool { return n == r.text("RoleName") })
	return nil, nil
}

func (s *iam) profilesOf(role string) []*profile {
	var out []*profile
	for _, name := range sorted(s.profiles) {
		if slices.Contains(s.profiles[name].roles, role) {
			out = append(out, s.profiles[name])
		}
	}
	return out
}

func (s *iam) listProfilesForRole(r *request) (any, error) {
	if _, err := s.principal("Role", r); err != nil {
		return nil, err
	}
	return list("InstanceProfiles", "member", s.profilesOf(r.text("RoleName")), s.describeProfile) + el("IsTruncated", false), nil
}

func (s *iam) tagProfile(r *request) (any, error) {
	p, err := s.profile(r)
	if err != nil {
		return nil, err
	}
	maps.Copy(p.tags, r.tags())
	return nil, nil
}

func (s *iam) untagProfile(r *request) (any, error) {
	p, err := s.profile(r)
	if err != nil {
		return nil, err
	}
	untagKeys(p.tags, r)
	return nil, nil
}

func untagKeys(tags map[string]string, r *request) {
	for _, m := range r.members("TagKeys.member") {
		delete(tags, m[""])
	}
}

func pathOf(r *request) string {
	if p := r.text("Path"); p != "" {
		return p
	}
	return "/"
}

func versionName(n int) string { return "v" + strconv.Itoa(n) }

// encoded is a document as IAM gives documents out.
func encoded(document string) string {
	return strings.ReplaceAll(url.QueryEscape(document), "+", "%20")
}

func exists(name string) *fault {
	return &fault{status: http.StatusConflict, code: "EntityAlreadyExists", message: name + " exists already"}
}

// fixed makes a call whose answer is always the same.
func fixed(result any) call {
	return func(*request) (any, error) { return result, nil }
}
