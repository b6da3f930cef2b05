// Tests: ShellSession, SessionEventStream, Cancellation
package dev.bowline

import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class ShellTest {
    private fun cat() = ShellConfiguration(
        cwd = temporaryDirectory().toString(),
        program = ShellProgram.Command("/bin/cat", emptyList()),
        size = TerminalSize(30u, 100u),
        idleAfterMs = 50u,
    )

    private fun shell(line: String) =
        cat().copy(program = ShellProgram.Command("/bin/sh", listOf("-c", line)))

    private suspend fun ShellSession.line(wanted: String) =
        events().first { (it as? SessionEvent.Output)?.line == wanted }

    @Test
    fun `login environment is captured and used`() = runTest {
        val found = engine.loginEnvironment(LoginShellQuery("/bin/sh", ignoresCache = true))
        assertEquals(LoginSource.INTERACTIVE, found.source, found.failures.toString())
        assertEquals("/bin/sh", found.shell)
        val path = found.environment.set.getValue("PATH")
        engine.startShell(shell("echo \$PATH").copy(environment = found.environment)).use { it.line(path) }
        val inherited = engine.loginEnvironment(LoginShellQuery("/no/such/shell", ignoresCache = true))
        assertEquals(LoginSource.INHERITED, inherited.source)
        assertTrue(inherited.failures.isNotEmpty())
    }

    @Test
    fun `lines are delivered as the program writes them`() = runTest {
        engine.startShell(shell("echo one; echo two; exit 4")).use { shell ->
            val exit = shell.waitForExit()
            assertEquals(4, exit.code)
            val events = shell.events().toList()
            assertEquals(listOf("one", "two"), events.mapNotNull { (it as? SessionEvent.Output)?.line })
            assertEquals(4, (events.last() as SessionEvent.Exit).code)
            assertEquals(SessionState.TERMINATED, shell.state())
            assertTrue(shell.outputBytes() >= 8u)
            assertThrowsBowline<BowlineException.Ended> { shell.resize(TerminalSize(10u, 10u)) }
            assertThrowsBowline<BowlineException.Ended> { shell.typeText("x") }
        }
    }

    @Test
    fun `typed input reaches the program`() = runTest {
        engine.startShell(cat()).use { shell ->
            assertNotNull(shell.pid())
            assertEquals(36, shell.id().length)
            shell.typeText("hello\n")
            shell.line("hello")
            shell.typeBytes("bytes\n".toByteArray())
            shell.line("bytes")
            val submission = shell.submit("submitted", SubmitOptions(readyWithinMs = 10u, settleMs = 10u))
            assertFalse(submission.outcome is SubmissionOutcome.Refused, submission.toString())
            shell.line("submitted")
            val long = "x".repeat(100_000)
            assertTrue(shell.submit(long, SubmitOptions(readyWithinMs = 10u)).outcome is SubmissionOutcome.Refused)
            shell.resize(TerminalSize(10u, 40u))
            assertEquals("", shell.partialLine())
            shell.signal(SignalKind.INTERRUPT)
            assertEquals(2, shell.waitForExit().signal)
        }
    }

    @Test
    fun `shell is terminated and killed repeatedly`() = runTest {
        engine.startShell(cat()).use { shell ->
            assertTrue(shell.terminate().survivors.isEmpty())
            assertFalse(shell.waitForExit().isOutOfMemory)
            assertTrue(shell.kill().survivors.isEmpty())
        }
        engine.startShell(cat().copy(containment = ContainmentLevel.GROUP)).use { shell ->
            assertEquals("group", shell.kill().level)
        }
        assertThrowsBowline<BowlineException.Start> { engine.startShell(cat().copy(cwd = "/no/such/folder")) }
    }

    @Test
    fun `cancellation ends a waiting call`() = runTest {
        engine.startShell(cat()).use { shell ->
            Cancellation().use { cancellation ->
                assertFalse(cancellation.isCancelled())
                val waiting = async { runCatching { shell.waitForExit(cancellation) }.exceptionOrNull() }
                cancellation.cancel()
                assertTrue(waiting.await() is BowlineException.Cancelled)
                assertTrue(cancellation.isCancelled())
            }
            shell.kill()
        }
    }

    @Test
    fun `event stream is read by cursor and stopped`() = runTest {
        engine.startShell(cat()).use { shell ->
            shell.eventStream(fromStart = true).use { events ->
                shell.typeText("a\n")
                val first = events.next(0u, 1u, 0u)!!
                assertEquals(first, events.next(0u, 1u, 0u))
                val waiting = async { events.next(first.cursor + 1_000u, 10u, 0u) }
                events.stop()
                waiting.await()
                assertNull(events.next(first.cursor, 10u, 0u))
            }
            shell.kill()
        }
    }
}
