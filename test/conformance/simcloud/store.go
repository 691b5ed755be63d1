package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/statestore"
	"github.com/hashicorp/terraform-plugin-framework/statestore/schema"
)

// folderStore is the state store sim_folder: states in a folder of the cloud's directory. Its
// provider is configured like any other.
type folderStore struct{ at *folder }

// A folder is a configured state store.
type folder struct {
	connection *connection
	dir        string
	unlocked   bool
}

var (
	_ statestore.StateStoreWithConfigure      = (*folderStore)(nil)
	_ statestore.StateStoreWithValidateConfig = (*folderStore)(nil)
)

func (s *folderStore) Metadata(_ context.Context, _ statestore.MetadataRequest, resp *statestore.MetadataResponse) {
	resp.TypeName = "sim_folder"
}

func (s *folderStore) Schema(_ context.Context, _ statestore.SchemaRequest, resp *statestore.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"name":     schema.StringAttribute{Required: true, Description: "The folder; \"wrong\" is an error."},
		"unlocked": schema.BoolAttribute{Optional: true, Description: "Have no locks."},
	}}
}

func (s *folderStore) ValidateConfig(_ context.Context, req statestore.ValidateConfigRequest, resp *statestore.ValidateConfigResponse) {
	if recordOf(req.Config.Raw).text("name") == "wrong" {
		resp.Diagnostics.AddError("Invalid folder", "A folder cannot be named \"wrong\".")
	}
}

func (s *folderStore) Initialize(_ context.Context, req statestore.InitializeRequest, resp *statestore.InitializeResponse) {
	c, ok := req.ProviderData.(*connection)
	if !ok {
		resp.Diagnostics.AddError("Not configured", "The state store was used before its provider was configured.")
		return
	}
	config := recordOf(req.Config.Raw)
	f := &folder{connection: c, dir: c.cloud.Folder(config.text("name")), unlocked: config.flag("unlocked")}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		resp.Diagnostics.AddError("Cannot make the folder", err.Error())
	}
	resp.StateStoreData = f
}

func (s *folderStore) Configure(_ context.Context, req statestore.ConfigureRequest, _ *statestore.ConfigureResponse) {
	s.at, _ = req.StateStoreData.(*folder)
}

const stateSuffix, lockSuffix = ".tfstate", ".lock"

func (f *folder) file(state, suffix string) string { return filepath.Join(f.dir, state+suffix) }

func (s *folderStore) GetStates(_ context.Context, _ statestore.GetStatesRequest, resp *statestore.GetStatesResponse) {
	files, err := os.ReadDir(s.at.dir)
	if err != nil {
		resp.Diagnostics.AddError("Cannot list states", err.Error())
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), stateSuffix); ok {
			resp.StateIDs = append(resp.StateIDs, name)
		}
	}
}

func (s *folderStore) DeleteState(_ context.Context, req statestore.DeleteStateRequest, resp *statestore.DeleteStateResponse) {
	if err := os.Remove(s.at.file(req.StateID, stateSuffix)); err != nil {
		resp.Diagnostics.AddError("Cannot delete the state", err.Error())
	}
}

func (s *folderStore) Lock(_ context.Context, req statestore.LockRequest, resp *statestore.LockResponse) {
	if s.at.unlocked {
		return
	}
	info := statestore.NewLockInfo(req)
	text, err := json.Marshal(info)
	if err != nil {
		resp.Diagnostics.AddError("Cannot lock", err.Error())
		return
	}
	whole := s.at.file(req.StateID+"."+info.ID, ".new")
	defer os.Remove(whole)
	if err := os.WriteFile(whole, text, 0o644); err != nil {
		resp.Diagnostics.AddError("Cannot lock", err.Error())
		return
	}
	err = os.Link(whole, s.at.file(req.StateID, lockSuffix))
	if errors.Is(err, os.ErrExist) {
		held, _ := s.at.held(req.StateID)
		resp.Diagnostics.Append(statestore.WorkspaceAlreadyLockedDiagnostic(req, held))
	} else if err != nil {
		resp.Diagnostics.AddError("Cannot lock", err.Error())
	}
	resp.LockID = info.ID
}

func (f *folder) held(state string) (info statestore.LockInfo, err error) {
	text, err := os.ReadFile(f.file(state, lockSuffix))
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	return info, err
}

func (s *folderStore) Unlock(_ context.Context, req statestore.UnlockRequest, resp *statestore.UnlockResponse) {
	held, err := s.at.held(req.StateID)
	if err == nil && held.ID != req.LockID {
		err = fmt.Errorf("the lock has the ID %q", held.ID)
	}
	if err == nil {
		err = os.Remove(s.at.file(req.StateID, lockSuffix))
	}
	if err != nil {
		resp.Diagnostics.AddError("Cannot unlock", err.Error())
	}
}

func (s *folderStore) Read(_ context.Context, req statestore.ReadRequest, resp *statestore.ReadResponse) {
	state, err := os.ReadFile(s.at.file(req.StateID, stateSuffix))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		resp.Diagnostics.AddError("Cannot read the state", err.Error())
	}
	resp.StateBytes = state
}

func (s *folderStore) Write(_ context.Context, req statestore.WriteRequest, resp *statestore.WriteResponse) {
	if s.at.connection.cloud.Broken("write", req.StateID) {
		resp.Diagnostics.AddError("Cannot write the state", "the cloud was told to fail")
		return
	}
	to := s.at.file(req.StateID, stateSuffix)
	err := os.WriteFile(to+".new", req.StateBytes, 0o644)
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	if err != nil {
		resp.Diagnostics.AddError("Cannot write the state", err.Error())
	}
}
