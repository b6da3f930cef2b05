// Tests: TerminalExecutor, HostTerminal
package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.CopyOnWriteArrayList
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class ExecutorTest {
    private fun configuration(hookGraceMs: ULong = 5_000u) = ExecutorConfiguration("session-1", hookGraceMs = hookGraceMs)

    private fun command(interaction: String, prompt: String? = "hello") = ExecutorCommand(
        interaction,
        prompt,
        isPrint = true,
        cwd = temporaryDirectory().toString(),
        options = AgentOptions(trailingArgs = listOf("--pace", "0", "--input-format", "text")),
    )

    @Test
    fun `command runs in a terminal of the library`() = runTest {
        engine.startExecutor(configuration()).use { executor ->
            val hooks = executor.hookStream()
            val outcome = executor.execute(command("i1"))
            assertEquals(0, outcome.exitCode, outcome.toString())
            assertTrue(outcome.stdout.isNotBlank())
            assertEquals(EvidenceKind.COMPLETE, outcome.evidence)
            assertEquals(outcome.conversation, executor.conversation())
            hooks.use { assertNotNull(it.next(0u, 1u, 0u)) }
            assertEquals(EvidenceKind.NOTHING, executor.execute(command("i2").copy(program = "")).evidence)
            assertThrowsBowline<BowlineException.Invalid> { executor.execute(command("i3").copy(program = "rm")) }
            assertThrowsBowline<BowlineException.NotFound> { executor.typeText("x") }
            assertThrowsBowline<BowlineException.NotFound> { executor.commandEnded(7u, TerminalOutput()) }
            executor.cleanup()
            assertThrowsBowline<BowlineException.Ended> { executor.execute(command("i4")) }
            assertThrowsBowline<BowlineException.Ended> { executor.hookStream() }
        }
    }

    @Test
    fun `host decides about tools of a command`() = runTest {
        val gate = HookGate(listOf("PreToolUse"), 30_000u, HookReply.Tool(ToolVerdict.DENY, "no answer", null, null))
        engine.startExecutor(configuration().copy(hooks = HookConfiguration(gate = gate))).use { executor ->
            val used = async(start = CoroutineStart.UNDISPATCHED) { executor.events().first { it is HookEventItem.Event && it.event.kind == "PostToolUse" } }
            val questions = executor.questionStream()
            assertThrowsBowline<BowlineException.Busy> { executor.questions().first() }
            val running = async { executor.execute(command("i1", "/tool ls")) }
            val question = questions.next(0u, 1u, 0u)!!.events.single()
            assertEquals("PreToolUse", question.event.kind)
            val waiting = async(start = CoroutineStart.UNDISPATCHED) { executor.waitForWithdrawal(question.id) }
            executor.answer(question.id, HookReply.Tool(ToolVerdict.ALLOW, null, null, null))
            waiting.await()
            assertThrowsBowline<BowlineException.NotFound> { executor.answer(question.id, HookReply.Nothing) }
            assertEquals(EvidenceKind.COMPLETE, running.await().evidence)
            used.await()
            questions.close()
            executor.cleanup()
            assertThrowsBowline<BowlineException.Ended> { executor.questionStream() }
        }
    }

    private class Terminal(val start: (HostTerminalCommand) -> Unit) : HostTerminal {
        val calls = CopyOnWriteArrayList<String>()

        override fun startCommand(command: HostTerminalCommand) {
            calls += "start ${command.interaction}"
            start(command)
        }

        override fun endCommand(run: ULong) {
            calls += "end"
        }

        override fun cleanup(session: String) {
            calls += "cleanup $session"
        }
    }

    @Test
    fun `command runs in a terminal of the host`() = runTest {
        lateinit var executor: TerminalExecutor
        val terminal = Terminal { command ->
            assertTrue(command.line!!.contains("cat "), command.line)
            val prompt = Files.readString(Path.of(command.input!!))
            executor.commandEnded(command.run, TerminalOutput(stdout = prompt, droppedBytes = 7u, exitCode = 5))
        }
        // No hook comes without an agent.
        executor = engine.startExecutor(configuration(hookGraceMs = 500u), terminal)
        executor.use {
            val outcome = executor.execute(command("i1", "say it"))
            assertEquals("say it", outcome.stdout)
            assertEquals(7uL, outcome.droppedBytes)
            assertEquals(5, outcome.exitCode)
            assertEquals(EvidenceKind.NO_SESSION_END, outcome.evidence)
            executor.cleanup()
            assertEquals(listOf("start i1", "cleanup session-1"), terminal.calls.toList())
        }
    }

    @Test
    fun `throwing terminal fails only the command`() = runTest {
        val terminal = Terminal { error("the tab is gone") }
        engine.startExecutor(configuration(), terminal).use { executor ->
            val failed = assertThrowsBowline<BowlineException.Host> { executor.execute(command("i1")) }
            assertTrue("the tab is gone" in failed.reason, failed.reason)
            executor.cleanup()
        }
    }

    @Test
    fun `throwable of a terminal fails its command`() = runTest {
        val thrown = listOf(StackOverflowError("too deep"), NoSuchMethodError("none"), IllegalStateException("half \ud83d of it"), BowlineException.Io("half \ud83d of it"))
        for (throwable in thrown) {
            engine.startExecutor(configuration(), Terminal { throw throwable }).use { executor ->
                val failed = runCatching { executor.execute(command("i1")) }.exceptionOrNull()
                assertTrue(failed is BowlineException.Host, "$failed for $throwable")
                assertTrue(throwable.javaClass.simpleName in (failed as BowlineException).reason, failed.reason)
                executor.cleanup()
            }
        }
    }

    @Test
    fun `blocking read in a callback is refused`() = runTest {
        engine.openRecording(fixtures.resolve("plain.jsonl").toString()).use { recording ->
            recording.changeStream().use { stream ->
                val terminal = Terminal { stream.nextBlocking(0u, 1u, 0u, 60_000u) }
                engine.startExecutor(configuration(), terminal).use { executor ->
                    val failed = assertThrowsBowline<BowlineException.Host> { executor.execute(command("i1")) }
                    assertTrue("thread of the library" in failed.reason, failed.reason)
                    executor.cleanup()
                }
            }
        }
    }

    @Test
    fun `cancelled command is ended in the terminal`() = runTest {
        val terminal = Terminal { }
        engine.startExecutor(configuration(), terminal).use { executor ->
            Cancellation().use { cancellation ->
                val waiting = async { runCatching { executor.execute(command("i1"), cancellation) }.exceptionOrNull() }
                eventually("the command runs") { terminal.calls.isNotEmpty() }
                cancellation.cancel()
                assertTrue(waiting.await() is BowlineException.Cancelled)
                eventually("the host received the end") { "end" in terminal.calls }
            }
            executor.cleanup()
        }
    }
}
