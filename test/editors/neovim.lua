-- Uses weir lsp from Neovim without a screen. Run by test/editors/run, which sets WEIR and
-- changes to a folder with main.tf.
local ok, problem = pcall(function()
  local file = vim.fn.getcwd() .. "/main.tf"
  vim.cmd("edit " .. file)
  local buf = vim.api.nvim_get_current_buf()
  local id = vim.lsp.start_client({ name = "weir", cmd = { vim.env.WEIR, "lsp" }, root_dir = vim.fn.getcwd() })
  assert(id, "the server doesn't start")
  vim.lsp.buf_attach_client(buf, id)
  local client = vim.lsp.get_client_by_id(id)
  local function wait(what, f)
    assert(vim.wait(30000, f, 50), "nothing came of: " .. what)
  end
  wait("initialize", function() return client.initialized end)

  local function problems() return vim.diagnostic.get(buf, { severity = { min = vim.diagnostic.severity.WARN } }) end
  local function request(method, params)
    local result
    vim.lsp.buf_request_all(buf, method, params, function(r) result = r end)
    wait(method, function() return result ~= nil end)
    assert(result[id] and not result[id].error, method .. ": " .. vim.inspect(result))
    return result[id].result
  end
  local function at(line, column)
    vim.api.nvim_win_set_cursor(0, { line, column })
    return vim.lsp.util.make_position_params(0, client.offset_encoding)
  end

  -- A problem of text that isn't saved, and the fix for it.
  vim.api.nvim_buf_set_lines(buf, 5, 6, false, { "  input = var.siz" })
  wait("a problem", function() return #problems() == 1 end)
  assert(problems()[1].message:find("undeclared input variable", 1, true), problems()[1].message)
  local hints = vim.diagnostic.get(buf, { severity = vim.diagnostic.severity.HINT })
  assert(#hints == 1 and hints[1].message:find("var.size", 1, true), vim.inspect(hints))
  vim.api.nvim_buf_set_lines(buf, 5, 6, false, { "  input = var.size" })
  wait("no problem", function() return #problems() == 0 end)

  -- Help, hints, links, lenses, colors, folds, callers and symbols.
  local function file_params() return { textDocument = vim.lsp.util.make_text_document_params(buf) } end
  assert(vim.inspect(request("textDocument/hover", at(6, 14))):find("**variable** `size`", 1, true), "no hover")
  vim.api.nvim_buf_set_lines(buf, 5, 6, false, { "  input = upper(v" })
  local help = request("textDocument/signatureHelp", at(6, 16))
  assert(help.signatures[1].label:find("upper", 1, true), vim.inspect(help))
  vim.api.nvim_buf_set_lines(buf, 5, 6, false, { "  input = var.size" })
  wait("no problem", function() return #problems() == 0 end)
  local titles = {}
  for _, lens in ipairs(request("textDocument/codeLens", file_params())) do titles[#titles + 1] = lens.command.title end
  assert(table.concat(titles, ",") == "Plan,Open in the page,Why,Impact", table.concat(titles, ","))
  assert(#request("textDocument/semanticTokens/full", file_params()).data > 0, "no colors")
  assert(#request("textDocument/foldingRange", file_params()) == 2, "no folds")
  assert(#request("textDocument/documentSymbol", file_params()) == 2, "no symbols")
  assert(#request("workspace/symbol", { query = "size" }) == 1, "no symbols of the workspace")
  request("textDocument/inlayHint", { textDocument = vim.lsp.util.make_text_document_params(buf), range = { start = { line = 0, character = 0 }, ["end"] = { line = 7, character = 0 } } })
  request("textDocument/documentLink", file_params())
  assert(#request("textDocument/prepareCallHierarchy", at(6, 14)) == 1, "no call hierarchy")
  local references = at(6, 14)
  references.context = { includeDeclaration = true }
  assert(#request("textDocument/references", references) == 2, "no references")
  local actions = at(6, 14)
  actions.range = { start = { line = 5, character = 10 }, ["end"] = { line = 5, character = 18 } }
  actions.context = { diagnostics = {} }
  assert(vim.inspect(request("textDocument/codeAction", actions)):find("local value", 1, true), "no refactoring")

  local definition = request("textDocument/definition", at(6, 14))
  assert(definition[1].range.start.line == 0, vim.inspect(definition))
  local list = request("textDocument/completion", at(6, 14))
  local found = false
  for _, item in ipairs(list.items) do found = found or item.label == "size" end
  assert(found, "size isn't proposed")

  local params = at(6, 14)
  params.newName = "large"
  vim.lsp.util.apply_workspace_edit(request("textDocument/rename", params), client.offset_encoding)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  assert(text:find('variable "large"', 1, true) and text:find("var.large", 1, true), text)

  vim.api.nvim_buf_set_lines(buf, 5, 6, false, { "    input = var.large" })
  local edits = request("textDocument/formatting", vim.lsp.util.make_formatting_params({}))
  vim.lsp.util.apply_text_edits(edits, buf, client.offset_encoding)
  assert(vim.api.nvim_buf_get_lines(buf, 5, 6, false)[1] == "  input = var.large", "it isn't laid out")
  client.stop()
end)
if not ok then
  io.stderr:write(tostring(problem) .. "\n")
  vim.cmd("cquit!")
end
io.stdout:write("ok\n")
vim.cmd("qall!")
