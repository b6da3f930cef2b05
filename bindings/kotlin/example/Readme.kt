package dev.bowline.example

import dev.bowline.*
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.last

/** The example of bindings/README.md; `.ci/covered.py` compares the two. */
suspend fun readme() {
    val engine = Bowline.engine()
    engine.start(DialogueConfiguration(cwd = "/some/project")).use { session ->
        session.send("What is in this folder?")
        val idle = session.transcripts().first { transcript ->
            transcript.permissions.filter { it.state == PermissionState.OPEN }
                .forEach { session.deny(it.requestId, "read-only session") }
            transcript.phase == Phase.IDLE && transcript.entries.isNotEmpty()
        }
        println(idle.toJson())
        session.end()
    }
}

suspend fun show(path: String) = Bowline.engine().openRecording(path).use { recording ->
    val transcript = recording.transcripts().last()
    for (call in transcript.toolCalls()) {
        println("${call.kind} ${call.title ?: call.name} ${call.exitCode ?: 0}")
        call.content.filterIsInstance<CallContent.Diff>().forEach { diff ->
            println("${diff.path}: ${diff.old ?: "(new file)"} -> ${diff.new ?: "(deleted)"}")
        }
    }
}

suspend fun answerAll(engine: Engine) = engine.inbox().collect { event ->
    when (event) {
        is InboxEvent.Opened -> {
            val request = event.request
            engine.respond(request.session, request.record.requestId, PermissionAnswer.Allow(null, null), "me")
        }
        is InboxEvent.Closed -> event.request.record.let { println("${it.state} ${it.answeredBy}") }
        is InboxEvent.Attention -> when (val reason = event.reason) {
            is AttentionReason.LimitReached -> println("${reason.window} ${reason.resetsAtMs}")
            is AttentionReason.Failure -> println(reason.text)
            else -> {}
        }
    }
}

suspend fun build(folder: String) {
    val rules = PolicySource.File("$folder/policy.toml")
    Bowline.engine().start(DialogueConfiguration(cwd = folder, policy = rules)).use { session ->
        session.send("Build it.").use { it.waitUntilSettled() }
        session.permissions().forEach { println("${it.toolName} ${it.answeredBy} ${it.answeredHow}") }
        session.end()
    }
}

suspend fun work(folder: String) {
    val budget = Budget(costUsd = 5.0, turns = 20u)
    val configuration = DialogueConfiguration(cwd = folder, budget = budget, resumeAtReset = "Continue.")
    Bowline.engine().start(configuration).use { session ->
        session.send("Fix the tests.").use { it.waitUntilSettled() }
        for (request in session.permissions().filter { it.toolName == "budget" && it.state == RequestState.OPEN }) {
            val raised = QuestionAnswer("budget", "7.50")
            session.respond(request.requestId, PermissionAnswer.Answers(listOf(raised)))
        }
        session.end()
    }
}

suspend fun resumeNewest(words: String): DialogueSession? {
    val engine = Bowline.engine()
    val query = HistoryQuery(agent = "claude", search = words, limit = 1u)
    val found = engine.history().use { it.list(query) }.conversations.firstOrNull() ?: return null
    return engine.start(
        DialogueConfiguration(
            cwd = found.cwd,
            conversation = Conversation.Resume(found.id, fork = false),
            history = HistoryConfiguration(),
        ),
    )
}

suspend fun keepConnected(session: DialogueSession) = session.connectionStates().collect { state ->
    when (state) {
        is ConnectionView.Reconnecting -> println("reconnecting, attempt ${state.attempt}")
        is ConnectionView.Failed -> {
            println(state.reason)
            if (state.canRetry) session.retry()
        }
        else -> println("connected")
    }
}

suspend fun show(shell: ShellSession, feed: (ByteArray) -> Unit) = shell.rawOutput(from = 0u).collect { piece ->
    when (piece) {
        is RawPiece.Bytes -> feed(piece.bytes)
        is RawPiece.Gap -> println("bytes ${piece.from} to ${piece.to} are no longer kept")
    }
}

suspend fun recordFromNowOn(session: DialogueSession) {
    val begin = session.record("/tmp/session.bjl")
    if (begin > 0u) println("the first $begin bytes are missing")
}

suspend fun report(session: DialogueSession): Transcript {
    session.diagnostics("/tmp/report.tar.gz", Redaction.CONTENT)
    return Bowline.engine().openRecording("/tmp/report.tar.gz").use { it.transcripts().last() }
}

suspend fun relaunch(runner: RunnerConfiguration, state: String): SessionManager {
    val manager = Bowline.engine().openManager(ManagerConfiguration(state))
    val report = manager.reattach(listOf(runner))
    for (id in report.attached) {
        val draft = manager.metadata(id) ?: ""
        println("${manager.session(id)?.label} $draft ${manager.dialogue(id).use { it.permissions() }}")
    }
    println("${report.ended} ${report.failed.map { it.reason }}")
    return manager
}

suspend fun quit(manager: SessionManager, drafts: Map<String, String>, endsAll: Boolean) {
    for ((id, draft) in drafts) manager.setMetadata(id, draft)
    val report = if (endsAll) manager.endAll() else manager.detachAll()
    report.listError?.let { println(it) }
}

suspend fun forwardHooks(url: String, authorities: String, tokens: TokenProvider): HookServer {
    val backend = HookBackend(url, "session-7", tokenProvider = tokens, authorities = authorities)
    val variables = HookVariables(url = "CODE_MY_SPEC_CALLBACK_URL")
    val configuration = HookConfiguration(variables = variables, secretPath = true, backend = backend)
    return Bowline.engine().startHooks(configuration)
}

suspend fun startHooked(runner: RunnerConfiguration, server: HookServer): DialogueSession {
    val configuration = DialogueConfiguration(runner = runner, hooks = server.spec("run-1"))
    val session = Bowline.engine().start(configuration)
    server.serve(runner, session.id())
    return session
}
