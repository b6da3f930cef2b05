package dev.bowline.example

import dev.bowline.*
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardOpenOption.APPEND
import java.nio.file.StandardOpenOption.CREATE
import kotlin.system.exitProcess
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/**
 * A host in a terminal: sends a prompt, allows all permission requests and prints the answer.
 *
 *     Host PROMPT [PROGRAM [ARGUMENT…]]
 *
 * With `BOWLINE_RUNNER` and `BOWLINE_TOKEN` in the environment the agent runs at that runner and survives the host, which attaches to
 * it again the next time. The events of hooks are forwarded to `BOWLINE_BACKEND` with the token in the file
 * `BOWLINE_BACKEND_TOKEN_FILE`. A file `policy.toml` in the current folder has rules that answer permission requests.
 */
fun main(arguments: Array<String>): Unit = runBlocking {
    val prompt = arguments.firstOrNull() ?: run {
        System.err.println("usage: Host PROMPT [PROGRAM [ARGUMENT…]]")
        exitProcess(2)
    }
    val folder = Path.of(System.getProperty("user.home"), ".bowline-example")
    val variables = System.getenv()
    val tokens = variables["BOWLINE_BACKEND_TOKEN_FILE"]?.let { FileTokens(Path.of(it)) }
    val settings = HostSettings(
        folder = Files.createDirectories(folder),
        program = arguments.getOrNull(1),
        args = arguments.drop(2),
        rules = Path.of("policy.toml").takeIf { Files.exists(it) },
        runner = variables["BOWLINE_RUNNER"]?.let { RunnerConfiguration(it, token = variables["BOWLINE_TOKEN"]) },
        backend = variables["BOWLINE_BACKEND"]?.let { HookBackend(it, "example", tokenProvider = tokens) },
    )
    Host(settings).run(prompt)
}

/** What the host begins with. */
class HostSettings(
    /** The folder of the list of sessions, the agent's output and reports. */
    val folder: Path,
    val program: String? = null,
    val args: List<String> = emptyList(),
    /** The file with the rules that answer permission requests. */
    val rules: Path? = null,
    /** Where the agent runs; this machine if null. */
    val runner: RunnerConfiguration? = null,
    /** Where the events of hooks are forwarded to. */
    val backend: HookBackend? = null,
)

/** Reads the token from a file for each attempt, so that a renewed one is used from then on. */
class FileTokens(private val file: Path) : TokenProvider {
    override fun token(wasRefused: Boolean): String = try {
        Files.readString(file).trim()
    } catch (error: java.io.IOException) {
        throw BowlineException.Host("read the token in $file: $error")
    }
}

class Host(private val settings: HostSettings, private val show: (String) -> Unit = ::println) {
    private val engine = Bowline.engine(program = settings.program)

    /** Sends a prompt to the session that an earlier run left at the runner, or else to a new one, and leaves it. */
    suspend fun run(prompt: String) {
        val list = ManagerConfiguration(settings.folder.resolve("sessions").toString(), budget = Budget(costUsd = 50.0))
        // Existing hook scripts post to the URL in `BOWLINE_HOOK_URL` without a token.
        engine.startHooks(HookConfiguration(secretPath = true, backend = settings.backend)).use { hooks ->
            engine.openManager(list).use { manager -> run(prompt, manager, hooks) }
        }
    }

    private suspend fun run(prompt: String, manager: SessionManager, hooks: HookServer) = coroutineScope {
        val inbox = launch { answerRequests() }
        val events = launch { showHooks(hooks) }
        val found = manager.reattach(listOfNotNull(settings.runner))
        found.failed.forEach { show("-- ${it.reason}") }
        val left = found.attached.firstOrNull()
        val id = left ?: manager.createDialogue(configuration(hooks), "example").id
        val location = manager.session(id)?.runner
        if (settings.runner != null && location != null) hooks.serve(settings.runner, location.session, hasPast = left != null)
        manager.metadata(id)?.let { show("-- the last prompt was $it") }
        manager.dialogue(id).use { talk(it, prompt) }
        manager.setMetadata(id, prompt)
        // An agent on this machine ends; `endAll` would end one at the runner as well.
        manager.detachAll()
        hooks.stop()
        events.join()
        inbox.cancel()
    }

    /** An agent with rules, a limit of the cost and hooks. After a usage limit of its account it continues by itself. */
    private fun configuration(hooks: HookServer): DialogueConfiguration {
        val plain = DialogueConfiguration(
            args = settings.args,
            runner = settings.runner,
            policy = settings.rules?.let { PolicySource.File(it.toString()) },
            budget = Budget(costUsd = 5.0),
            resumeAtReset = "Continue.",
        )
        if (settings.runner != null) return plain.copy(hooks = hooks.spec("example"))
        return plain.copy(
            options = AgentOptions(settings = AgentDocument.Private(hooks.settings("example"))),
            environment = EnvironmentChanges(set = hooks.environment("example")),
        )
    }

    private suspend fun talk(session: DialogueSession, prompt: String) = coroutineScope {
        val connection = launch { keepConnected(session) }
        val begin = session.rawEnd()
        session.send(prompt).use { it.waitUntilSettled() }
        val transcript = session.transcripts().first { it.phase == Phase.IDLE }
        val answer = transcript.entries.toList().takeLastWhile { it.value !is EntryKind.User }
        answer.flatMap { it.blocks }.map { it.text }.filter { it.isNotEmpty() }.forEach(show)
        val end = session.rawEnd()
        if (end > begin) copyOutput(session, begin, end)
        if (answer.any { (it.value as? EntryKind.Result)?.isError == true }) report(session)
        connection.cancel()
    }

    /** Shows when the connection is lost, and tries again when it was given up. */
    private suspend fun keepConnected(session: DialogueSession) = session.connectionStates().collect { state ->
        when (state) {
            is ConnectionView.Reconnecting -> show("-- reconnecting, attempt ${state.attempt}")
            is ConnectionView.Failed -> {
                show("-- ${state.reason}")
                if (state.canRetry) session.retry()
            }
            else -> {}
        }
    }

    /** Appends bytes of the agent's output to a file, as a terminal view would be fed. */
    private suspend fun copyOutput(session: DialogueSession, begin: ULong, end: ULong) {
        session.rawOutput(from = begin).first { piece ->
            when (piece) {
                is RawPiece.Bytes -> {
                    Files.write(settings.folder.resolve("output"), piece.bytes, CREATE, APPEND)
                    piece.offset + piece.bytes.size.toUInt() >= end
                }
                is RawPiece.Gap -> {
                    show("-- bytes ${piece.from} to ${piece.to} are no longer kept")
                    piece.to >= end
                }
            }
        }
    }

    /** Writes what is known of the session into a file, without secrets, prompts and answers. */
    private suspend fun report(session: DialogueSession) {
        val file = settings.folder.resolve("report-${System.currentTimeMillis()}.tar.gz").toString()
        session.diagnostics(file, Redaction.CONTENT)
        show("-- report in $file")
    }

    private suspend fun showHooks(hooks: HookServer) = hooks.events().collect { item ->
        if (item is HookEventItem.Event) show("-- hook ${item.event.kind}")
    }

    /** Allows what any session asks for, and shows why one needs attention. */
    private suspend fun answerRequests() = engine.inbox().collect { event ->
        when (event) {
            is InboxEvent.Opened -> {
                val request = event.request
                engine.respond(request.session, request.record.requestId, PermissionAnswer.Allow(null, null), "example")
            }
            is InboxEvent.Closed -> show("-- ${event.request.record.run { "$toolName: $state" }}")
            is InboxEvent.Attention -> when (val reason = event.reason) {
                is AttentionReason.LimitReached -> show("-- limit reached: ${reason.window}")
                is AttentionReason.Failure -> show("-- ${reason.text}")
                else -> {}
            }
        }
    }
}
