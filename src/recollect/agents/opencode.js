// Written by `recollect install` for OpenCode, and taken away by `recollect uninstall`.
//
// Has no memory of its own: it runs Recollect's hook and passes on what that says. Whatever goes wrong, it says nothing
// and the session goes on. What is remembered is added to the person's message as a part of its own, so that nothing
// that was sent before is ever changed.
import { spawn } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

const HOOK = "@HOOK@"
const WAIT_MS = 2000
const VIRTUAL = ".ai/recall/"
// Outside the project OpenCode asks before it reads, but for the folder that it keeps long outputs in.
const OUTPUTS = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode", "tool-output")

function ask(event, payload) {
  return new Promise((resolve) => {
    let said = ""
    const done = () => {
      clearTimeout(timer)
      try {
        resolve(said ? JSON.parse(said) : {})
      } catch {
        resolve({})
      }
    }
    const hook = spawn(HOOK, ["opencode", event], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => hook.kill(), WAIT_MS)
    hook.on("error", done)
    hook.on("close", done)
    hook.stdin.on("error", () => {})
    hook.stdout.setEncoding("utf8")
    hook.stdout.on("data", (part) => (said += part))
    hook.stdin.end(JSON.stringify({ outputs: OUTPUTS, ...payload }))
  }).catch(() => ({}))
}

export const Recollect = async ({ directory, worktree }) => {
  const cwd = directory || worktree
  const started = new Set()
  const compacted = new Set()
  const children = new Set()

  // Of a session that this process has not seen yet, or that has lost what it was told.
  const start = async (session) => {
    if (started.has(session) && !compacted.has(session)) return ""
    const source = compacted.delete(session) ? "compact" : "resume"
    started.add(session)
    return (await ask("SessionStart", { session_id: session, cwd, source })).context || ""
  }

  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created" && info?.parentID) children.add(info.id)
      if (event.type === "session.compacted") compacted.add(event.properties?.sessionID)
    },

    "chat.message": async (input, output) => {
      const session = input.sessionID
      const theirs = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const last = output.parts.at(-1)
      // A subagent's prompt is the agent's word.
      if (children.has(session) || !theirs.length || !last) return
      const prompt = theirs.map((part) => part.text).join("\n")
      const told = await start(session)
      const asked = { session_id: session, cwd, prompt, prompt_id: output.message?.id || "" }
      const reply = await ask("UserPromptSubmit", asked)
      const text = [told, reply.context].filter(Boolean).join("\n\n")
      if (!text) return
      const messageID = output.message?.id || last.messageID
      output.parts.push({ id: `${last.id}m`, sessionID: session, messageID, type: "text", text, synthetic: true })
    },

    "tool.execute.before": async (input, output) => {
      const path = output.args?.filePath
      if (input.tool !== "read" || typeof path !== "string" || !path.includes(VIRTUAL)) return
      await mkdir(OUTPUTS, { recursive: true }).catch(() => {}) // it makes it when it first needs it
      const call = { tool_name: "read", tool_input: { path }, tool_use_id: input.callID }
      const reply = await ask("PreToolUse", { session_id: input.sessionID, cwd, ...call })
      if (reply.read) output.args.filePath = reply.read
    },
  }
}
