// Declarations of the part of SwiftUI that the views use, with the signatures of Apple's documentation, so
// that `.ci/swift-views` type-checks the views on Linux. Nothing of it runs.
@_exported import Foundation
@_exported import Observation

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

/// A view without a body of its own.
public protocol Primitive: View where Body == Never {}

extension Primitive {
    public var body: Never { fatalError() }
}

extension Optional: View where Wrapped: View {
    public var body: Never { fatalError() }
}

public struct Modified<Content: View>: Primitive {}
public struct EmptyView: Primitive { public nonisolated init() {} }
public struct Several<each Content: View>: Primitive {}
public struct Either<First: View, Second: View>: Primitive {}

@resultBuilder public struct ViewBuilder {
    public static func buildBlock() -> EmptyView { fatalError() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(
        _ content: repeat each Content
    ) -> Several<repeat each Content> { fatalError() }
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<First: View, Second: View>(first: First) -> Either<First, Second> {
        fatalError()
    }
    public static func buildEither<First: View, Second: View>(second: Second) -> Either<First, Second> {
        fatalError()
    }
}

@MainActor @preconcurrency public protocol Scene {
    associatedtype Body: Scene
    @MainActor @preconcurrency var body: Body { get }
}

extension Never: Scene {}

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    @MainActor @preconcurrency var body: Body { get }
    @MainActor @preconcurrency init()
}

extension App {
    public static func main() {}
}

public struct WindowGroup<Content: View>: Scene {
    public nonisolated init(_ title: String, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}

public struct ModifiedScene<Content: Scene>: Scene {
    public var body: Never { fatalError() }
}

@MainActor @preconcurrency public protocol Commands {}
@resultBuilder public struct CommandsBuilder {
    public static func buildBlock<Content: Commands>(_ content: Content) -> Content { content }
}
public struct CommandGroupPlacement: Sendable { public static let appTermination = CommandGroupPlacement() }
public struct CommandGroup<Content: View>: Commands {
    public nonisolated init(before group: CommandGroupPlacement, @ViewBuilder addition: () -> Content) {}
}
extension Scene {
    public func commands(@CommandsBuilder content: () -> some Commands) -> some Scene {
        ModifiedScene<Self>()
    }
}

// SwiftUI exports AppKit on macOS.
@MainActor open class NSApplication: NSObject {
    public enum TerminateReply: UInt, Sendable { case terminateCancel, terminateNow, terminateLater }
    public enum RequestUserAttentionType: UInt, Sendable { case criticalRequest, informationalRequest }
    public class var shared: NSApplication { fatalError() }
    public func terminate(_ sender: Any?) {}
    public func reply(toApplicationShouldTerminate shouldTerminate: Bool) {}
    public func requestUserAttention(_ requestType: RequestUserAttentionType) -> Int { 0 }
}
@MainActor public protocol NSApplicationDelegate: AnyObject {
    func applicationShouldTerminate(_ sender: NSApplication) -> NSApplication.TerminateReply
}
@MainActor @preconcurrency @propertyWrapper public struct NSApplicationDelegateAdaptor<
    DelegateType: NSObject & NSApplicationDelegate
> {
    public nonisolated init(_ delegateType: DelegateType.Type = DelegateType.self) {}
    public var wrappedValue: DelegateType { fatalError() }
}

@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { fatalError() }
}

@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    @preconcurrency public init(
        get: @escaping @isolated(any) @Sendable () -> Value,
        set: @escaping @isolated(any) @Sendable (Value) -> Void
    ) {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { self }
    public subscript<Subject>(dynamicMember path: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
        fatalError()
    }
}

@propertyWrapper @dynamicMemberLookup public struct Bindable<Value> {
    public var wrappedValue: Value
    public init(wrappedValue: Value) where Value: AnyObject & Observable { self.wrappedValue = wrappedValue }
    public var projectedValue: Bindable<Value> { self }
    public subscript<Subject>(
        dynamicMember path: ReferenceWritableKeyPath<Value, Subject>
    ) -> Binding<Subject> where Value: AnyObject { fatalError() }
}

public enum HorizontalAlignment: Sendable { case leading, center, trailing }
public enum VerticalAlignment: Sendable { case top, center, bottom }
public enum Alignment: Sendable { case leading, center, trailing }
public enum VerticalEdge: Sendable { case top, bottom }
public enum Axis: Sendable { case horizontal, vertical }
public enum ControlSize: Sendable { case small, regular }
public enum ButtonRole: Sendable { case cancel, destructive }
public struct UnitPoint: Sendable { public static let bottom = UnitPoint() }
public struct EventModifiers: Sendable { public static let command = EventModifiers() }
public struct KeyEquivalent: Sendable { public static let `return` = KeyEquivalent() }
public struct UTType: Sendable { public static let folder = UTType() }

public protocol TextSelectability { static var allowsSelection: Bool { get } }
public struct EnabledTextSelectability: TextSelectability { public static let allowsSelection = true }
extension TextSelectability where Self == EnabledTextSelectability {
    public static var enabled: EnabledTextSelectability { .init() }
}

public struct Font: Sendable {
    public enum TextStyle: Sendable { case body, caption }
    public enum Design: Sendable { case monospaced }
    public static let headline = Font()
    public static let subheadline = Font()
    public static let footnote = Font()
    public static let caption = Font()
    public static func system(_ style: TextStyle, design: Design? = nil) -> Font { Font() }
    public func bold() -> Font { self }
}

public protocol ShapeStyle: Sendable {}
public protocol Shape: View {}
public struct RoundedRectangle: Shape, Primitive { public nonisolated init(cornerRadius: CGFloat) {} }
public struct Color: ShapeStyle, Primitive { public nonisolated func opacity(_ by: Double) -> Color { self } }
extension ShapeStyle where Self == Color {
    public static var red: Color { fatalError() }
    public static var blue: Color { fatalError() }
    public static var orange: Color { fatalError() }
    public static var yellow: Color { fatalError() }
}
public struct HierarchicalShapeStyle: ShapeStyle {}
extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var secondary: HierarchicalShapeStyle { fatalError() }
}

public struct LocalizedStringKey: ExpressibleByStringInterpolation {
    public init(stringLiteral: String) {}
}

public struct Text: Primitive {
    public nonisolated init(_ key: LocalizedStringKey) {}
    @_disfavoredOverload public nonisolated init(_ text: some StringProtocol) {}
}

public struct Label<Title: View, Icon: View>: Primitive {}
public struct Image: Primitive {}
extension Label where Title == Text, Icon == Image {
    public nonisolated init(_ title: LocalizedStringKey, systemImage: String) {}
    @_disfavoredOverload public nonisolated init(_ title: some StringProtocol, systemImage: String) {}
}

public struct Button<Content: View>: Primitive {
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Content) {}
}
extension Button where Content == Text {
    public init(_ title: LocalizedStringKey, role: ButtonRole? = nil, action: @escaping @MainActor () -> Void) {}
    @_disfavoredOverload public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
}
extension Button where Content == Label<Text, Image> {
    public init(_ title: LocalizedStringKey, systemImage: String, action: @escaping @MainActor () -> Void) {}
}

public struct TextField: Primitive {
    public init(_ title: LocalizedStringKey, text: Binding<String>) {}
    public init(_ title: LocalizedStringKey, text: Binding<String>, axis: Axis) {}
}

public struct Link: Primitive {
    public init(_ title: some StringProtocol, destination: URL) {}
}

public struct DisclosureGroup<Title: View, Content: View>: Primitive {
    public init(@ViewBuilder content: @escaping () -> Content, @ViewBuilder label: () -> Title) {}
}
extension DisclosureGroup where Title == Text {
    public init(_ title: LocalizedStringKey, @ViewBuilder content: @escaping () -> Content) {}
}

public struct Spacer: Primitive { public nonisolated init() {} }
public struct Divider: Primitive { public nonisolated init() {} }
public struct ProgressView: Primitive { public nonisolated init() {} }

public struct Group<Content: View>: Primitive { public init(@ViewBuilder content: () -> Content) {} }
public struct HStack<Content: View>: Primitive {
    public init(
        alignment: VerticalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) {}
}
public struct VStack<Content: View>: Primitive {
    public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) {}
}
public struct LazyVStack<Content: View>: Primitive {
    public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) {}
}
public struct ScrollView<Content: View>: Primitive { public init(@ViewBuilder content: () -> Content) {} }
public struct NavigationSplitView<Sidebar: View, Detail: View>: Primitive {
    public init(@ViewBuilder sidebar: () -> Sidebar, @ViewBuilder detail: () -> Detail) {}
}
public struct ContentUnavailableView: Primitive {
    public init(_ title: LocalizedStringKey, systemImage: String, description: Text? = nil) {}
}
public struct List<Selection: Hashable, Content: View>: Primitive {
    public init(selection: Binding<Selection?>?, @ViewBuilder content: () -> Content) {}
}
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content: View>: Primitive {
    public init(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {}
}
extension ForEach where Data.Element: Identifiable, ID == Data.Element.ID {
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) {}
}

extension View {
    public func padding(_ length: CGFloat) -> some View { Modified<Self>() }
    public func padding() -> some View { Modified<Self>() }
    public func background(_ style: some ShapeStyle, in shape: some Shape) -> some View { Modified<Self>() }
    public func foregroundStyle(_ style: some ShapeStyle) -> some View { Modified<Self>() }
    public func font(_ font: Font?) -> some View { Modified<Self>() }
    public func textSelection(_ selectability: some TextSelectability) -> some View { Modified<Self>() }
    public func lineLimit(_ number: Int?) -> some View { Modified<Self>() }
    public func lineLimit(_ range: ClosedRange<Int>) -> some View { Modified<Self>() }
    public func frame(minWidth: CGFloat? = nil, minHeight: CGFloat? = nil) -> some View { Modified<Self>() }
    public func frame(maxWidth: CGFloat?, alignment: Alignment) -> some View { Modified<Self>() }
    public func controlSize(_ size: ControlSize) -> some View { Modified<Self>() }
    public func disabled(_ disabled: Bool) -> some View { Modified<Self>() }
    public func help(_ text: some StringProtocol) -> some View { Modified<Self>() }
    public func id(_ id: some Hashable) -> some View { Modified<Self>() }
    public func badge(_ count: Int) -> some View { Modified<Self>() }
    public func tag(_ tag: some Hashable) -> some View { Modified<Self>() }
    public func onSubmit(_ action: @escaping () -> Void) -> some View { Modified<Self>() }
    public func keyboardShortcut(_ key: KeyEquivalent, modifiers: EventModifiers) -> some View { Modified<Self>() }
    public func defaultScrollAnchor(_ anchor: UnitPoint?) -> some View { Modified<Self>() }
    public func contextMenu(@ViewBuilder menuItems: () -> some View) -> some View { Modified<Self>() }
    public func toolbar(@ViewBuilder content: () -> some View) -> some View { Modified<Self>() }
    public func safeAreaInset(edge: VerticalEdge, @ViewBuilder content: () -> some View) -> some View {
        Modified<Self>()
    }
    public func alert<Item>(
        _ title: LocalizedStringKey, isPresented: Binding<Bool>, presenting: Item?,
        @ViewBuilder actions: (Item) -> some View
    ) -> some View { Modified<Self>() }
    public func fileImporter(
        isPresented: Binding<Bool>, allowedContentTypes: [UTType],
        onCompletion: @escaping (Result<URL, any Error>) -> Void
    ) -> some View { Modified<Self>() }
    public func task(_ action: sending @escaping @isolated(any) () async -> Void) -> some View { Modified<Self>() }
    public func task(
        id: some Equatable, _ action: sending @escaping @isolated(any) () async -> Void
    ) -> some View { Modified<Self>() }
}
